import { MAX_REDIRECT_URIS } from '../protocol/application.ts';
import { allScopes, type Scope } from '../protocol/scope.ts';
import { type Html, html } from './html.ts';
import { field, textArea } from './parts.ts';

export const SCOPE_USES = ['required', 'optional', 'none'] as const;
export type ScopeUse = (typeof SCOPE_USES)[number];

/** An application's settings as typed, valid or not. */
export type ApplicationInput = {
  readonly name: string;
  readonly homepageUrl: string;
  /** One per line. */
  readonly redirectUris: string;
  /** By the name of the scope. */
  readonly scopes: ReadonlyMap<string, ScopeUse>;
};

export type ApplicationErrors = {
  readonly name: readonly string[];
  readonly homepageUrl: readonly string[];
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
};

const USE_LABELS: Record<ScopeUse, string> = { required: 'Required', optional: 'Optional', none: 'Not used' };

export function applicationFields(input: ApplicationInput, errors?: ApplicationErrors): Html {
  return html`${field({
    name: 'name',
    label: 'Name',
    value: input.name,
    hint: 'People read it when they are asked for consent.',
    errors: errors?.name,
    autocomplete: 'off',
    required: true,
  })}
${field({
  name: 'homepage_url',
  label: 'Home page (optional)',
  type: 'url',
  value: input.homepageUrl,
  hint: 'Where people can read about your application, such as https://app.example.',
  errors: errors?.homepageUrl,
  autocomplete: 'off',
})}
${textArea({
  name: 'redirect_uris',
  label: 'Redirect URIs',
  value: input.redirectUris,
  hint: `One a line, at most ${MAX_REDIRECT_URIS}. https, or http on localhost. Compared character for character.`,
  errors: errors?.redirectUris,
  rows: Math.min(12, Math.max(4, input.redirectUris.split('\n').length + 1)),
  required: true,
})}
<fieldset class="field"${scopesInvalid(errors) && html` aria-describedby="scopes-error"`}>
<legend>What it may read</legend>
<span class="hint">Required: people share it or do not connect. Optional: they can leave it out.</span>
${allScopes().map((scope) => scopeChoice(scope, input.scopes.get(scope.name) ?? 'none'))}
${scopesInvalid(errors) && html`<span class="error" id="scopes-error">${errors?.scopes[0]}</span>`}
</fieldset>`;
}

const scopesInvalid = (errors: ApplicationErrors | undefined): boolean => (errors?.scopes.length ?? 0) > 0;

function scopeChoice({ name, formTitle, formDetail }: Scope, chosen: ScopeUse): Html {
  const option = (use: ScopeUse) =>
    html`<label class="choice"><input type="radio" name="scope_${name}" value="${use}"${use === chosen && html` checked`}> ${USE_LABELS[use]}</label>\n`;
  return html`<fieldset class="choices">
<legend>${formTitle} <span class="muted">${formDetail}</span></legend>
${SCOPE_USES.map(option)}</fieldset>
`;
}
