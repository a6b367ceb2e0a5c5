import type { Profile } from '../protocol/claims.ts';
import { includes, type ScopeName, type ScopeSet, scopeNames, scopeOf } from '../protocol/scope.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

export type ConsentProps = {
  readonly applicationName: string;
  /** Where it says that it is at home. Nobody checked. */
  readonly claimedSite: string | undefined;
  /** The domain of its owner's address, when that was proven. */
  readonly ownerDomain: string | undefined;
  readonly user: Profile;
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
  /** Where the browser goes next. */
  readonly redirectHost: string;
  /** The request being answered, signed for this browser session. */
  readonly request: string;
  readonly formToken: string;
  readonly switchAccountTo: string;
};

const TITLES: Record<ScopeName, string> = { profile: 'Your profile', email: 'Your e-mail address' };

type Value = readonly [label: string, value: string | null];

/** What the application will read, with the user's own values: nobody has to guess what a scope means. */
const VALUES: Record<ScopeName, (user: Profile) => readonly Value[]> = {
  profile: ({ name, preferredUsername, picture, locale }) => [
    ['Your name', name],
    ['Your user name', preferredUsername],
    ['Your picture', picture],
    ['Your language', locale],
  ],
  email: ({ email, emailVerified }) => [
    ['Your e-mail', `${email}, ${emailVerified ? 'verified' : 'not verified'}`],
  ],
};

export function consentPage(props: ConsentProps): Html {
  const { applicationName, user, scope, redirectHost, request, formToken, switchAccountTo } = props;
  return gateLayout(
    `Connect ${applicationName}`,
    html`<div class="stack tight">
<h1>Let <span class="asker">${applicationName}</span> use your account?</h1>
<p class="muted">${provenance(props)}</p>
</div>
<form class="stack" method="post" action="/oauth/authorize">
<input type="hidden" name="request" value="${request}">
<p>It will be able to read:</p>
<ul class="scopes">
${scopeNames(scope).map((name) => item(name, props))}</ul>
<div class="actions even">
<button name="decision" value="deny">Deny</button>
<button class="primary" name="decision" value="allow">Allow</button>
</div>
<p class="muted small">Either way you then go to <strong>${redirectHost}</strong>. You can disconnect it at any time under Connections.</p>
</form>
<hr>
<form class="row spread small" method="post" action="/logout">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="return_to" value="${switchAccountTo}">
<span class="muted">Signed in as <strong>${user.email}</strong></span>
<button class="link">Use another account</button>
</form>`,
  );
}

/** The host that the answer goes to is checked, the owner's domain where it was proven; the rest is what it says of itself. */
function provenance({ redirectHost, claimedSite, ownerDomain }: ConsentProps): Html {
  const claim =
    claimedSite !== undefined &&
    claimedSite !== redirectHost &&
    html` It says that it belongs to ${claimedSite}.`;
  return ownerDomain
    ? html`From <strong>${redirectHost}</strong>, registered by somebody at <strong>${ownerDomain}</strong>.${claim}`
    : html`From <strong>${redirectHost}</strong>. Who registered it is not confirmed.${claim}`;
}

function item(name: ScopeName, { user, optionalScope }: ConsentProps): Html {
  const values = html`<dl class="values">${VALUES[name](user).map(
    ([label, value]) =>
      html`<div><dt>${label}:</dt> <dd>${value ?? html`<span class="muted">not set</span>`}</dd></div>\n`,
  )}</dl>`;
  if (!includes(optionalScope, scopeOf(name)))
    return html`<li><strong>${TITLES[name]}</strong>${values}</li>\n`;
  return html`<li><label class="choice"><input type="checkbox" name="scope_${name}" value="yes" checked aria-describedby="scope-${name}-values"> <strong>${TITLES[name]}</strong> <span class="badge">Optional</span></label><div id="scope-${name}-values" class="indented">${values}</div></li>\n`;
}
