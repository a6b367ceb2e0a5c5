import { includes, type ScopeName, type ScopeSet, scopeNames, scopeOf } from '../protocol/scope.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

export type ConsentProps = {
  readonly applicationName: string;
  readonly userEmail: string;
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
  /** Where the browser goes next. */
  readonly redirectHost: string;
  /** The request being answered, signed for this browser session. */
  readonly request: string;
  readonly formToken: string;
  readonly switchAccountTo: string;
};

const WORDS: Record<ScopeName, string> = {
  profile: 'Your profile: name, user name, picture and language',
  email: 'Your e-mail address and whether it is verified',
};

export function consentPage(props: ConsentProps): Html {
  const {
    applicationName,
    userEmail,
    scope,
    optionalScope,
    redirectHost,
    request,
    formToken,
    switchAccountTo,
  } = props;
  const item = (name: ScopeName) =>
    includes(optionalScope, scopeOf(name))
      ? html`<li><label class="choice"><input type="checkbox" name="scope_${name}" value="yes" checked> ${WORDS[name]} (optional)</label></li>`
      : html`<li>${WORDS[name]}</li>`;
  return gateLayout(
    `Connect ${applicationName}`,
    html`<h1>Let <strong>${applicationName}</strong> use your account?</h1>
<p>It will be able to read:</p>
<form class="stack" method="post" action="/oauth/authorize">
<input type="hidden" name="request" value="${request}">
<ul class="stack tight">${scopeNames(scope).map(item)}</ul>
<p class="muted">You then go to ${redirectHost}.</p>
<div class="actions even">
<button name="decision" value="deny">Deny</button>
<button class="primary" name="decision" value="allow">Allow</button>
</div>
</form>
<form method="post" action="/logout">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="return_to" value="${switchAccountTo}">
<p class="muted">Signed in as ${userEmail}. <button class="link">Use another account</button></p>
</form>`,
  );
}
