import {
  type ApplicationErrors,
  type ApplicationInput,
  SCOPE_USES,
  type ScopeUse,
} from '../pages/application-form.ts';
import { redirectUriCountFault } from '../protocol/application.ts';
import { nameFault } from '../protocol/name.ts';
import { redirectUriFault } from '../protocol/redirect-uri.ts';
import { allScopes, includes, NO_SCOPE, type Scope, type ScopeSet, unionOf } from '../protocol/scope.ts';
import type { Application, SettingsInput } from '../store/applications.ts';

type ReadForm =
  | { readonly input: ApplicationInput; readonly changes: SettingsInput }
  | { readonly input: ApplicationInput; readonly errors: ApplicationErrors };

type Fields = ReadonlyMap<string, string>;

const MAX_ERRORS = 20;

export const BLANK: ApplicationInput = {
  name: '',
  homepageUrl: '',
  redirectUris: '',
  scopes: scopeUses(({ byDefault }) => (byDefault ? 'required' : 'none')),
};

export function inputOf({
  name,
  homepageUrl,
  redirectUris,
  scope,
  optionalScope,
}: Application): ApplicationInput {
  const use = ({ bit }: Scope): ScopeUse => {
    if (!includes(scope, bit)) return 'none';
    return includes(optionalScope, bit) ? 'optional' : 'required';
  };
  return {
    name,
    homepageUrl: homepageUrl ?? '',
    redirectUris: redirectUris.join('\n'),
    scopes: scopeUses(use),
  };
}

/** Reports all errors at once. A field that was not sent keeps its value in `before`. */
export function readApplicationForm(form: Fields, before: ApplicationInput): ReadForm {
  const input: ApplicationInput = {
    name: (form.get('name') ?? before.name).trim(),
    homepageUrl: (form.get('homepage_url') ?? before.homepageUrl).trim(),
    redirectUris: (form.get('redirect_uris') ?? before.redirectUris).replaceAll(/\r\n?/g, '\n'),
    scopes: scopeUses(({ name }) => sentUse(form, name) ?? before.scopes.get(name) ?? 'none'),
  };
  const lines = readLines(input.redirectUris);
  const scope = scopeWhere(input, (use) => use !== 'none');
  const errors: ApplicationErrors = {
    name: faults(input.name === '' ? 'Give it a name.' : nameFault(input.name)),
    homepageUrl: faults(homepageFault(input.homepageUrl)),
    redirectUris: redirectUriErrors(lines),
    scopes: faults(scope === NO_SCOPE ? 'Choose at least one that is required or optional.' : undefined),
  };
  if (Object.values(errors).some((messages) => messages.length > 0)) return { input, errors };
  const changes: SettingsInput = {
    name: input.name,
    homepageUrl: input.homepageUrl || null,
    redirectUris: lines.map(({ uri }) => uri),
    scope,
    optionalScope: scopeWhere(input, (use) => use === 'optional'),
  };
  return { input, changes };
}

const faults = (fault: string | undefined): string[] => (fault === undefined ? [] : [fault]);

function scopeUses(use: (scope: Scope) => ScopeUse): ReadonlyMap<string, ScopeUse> {
  return new Map(allScopes().map((scope) => [scope.name, use(scope)]));
}

function sentUse(form: Fields, name: string): ScopeUse | undefined {
  return SCOPE_USES.find((use) => use === form.get(`scope_${name}`));
}

function scopeWhere({ scopes }: ApplicationInput, chosen: (use: ScopeUse) => boolean): ScopeSet {
  return unionOf(allScopes().filter(({ name }) => chosen(scopes.get(name) ?? 'none')));
}

/** A link that users follow, so the rules are those of redirect URIs. */
function homepageFault(url: string): string | undefined {
  const fault = url === '' ? undefined : redirectUriFault(url);
  return fault && `The home page ${fault}.`;
}

type Line = { readonly number: number; readonly uri: string };

/** Empty lines are skipped but counted: errors name the line that the developer sees. */
function readLines(text: string): Line[] {
  return text
    .split('\n')
    .map((line, index) => ({ number: index + 1, uri: line.trim() }))
    .filter(({ uri }) => uri !== '');
}

function redirectUriErrors(lines: readonly Line[]): string[] {
  if (lines.length === 0) return ['Enter at least one redirect URI.'];
  const firstLineOf = new Map<string, number>();
  const errors = lines.flatMap(({ number, uri }) => {
    const fault = redirectUriFault(uri);
    if (fault) return [`Line ${number} ${fault}.`];
    const first = firstLineOf.get(uri);
    if (first !== undefined) return [`Line ${number} repeats line ${first}.`];
    firstLineOf.set(uri, number);
    return [];
  });
  return [...faults(redirectUriCountFault(lines.length)), ...errors.slice(0, MAX_ERRORS)];
}
