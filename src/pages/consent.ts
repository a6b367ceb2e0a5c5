import { PROFILE_FIELDS, type Profile } from '../protocol/profile.ts';
import { includes, type Scope, type ScopeSet, scopesIn } from '../protocol/scope.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';
import { csrfField } from './parts.ts';

type ConsentProps = {
  readonly applicationName: string;
  /** Host of its home page, which nobody checked. */
  readonly claimedSite: string | undefined;
  /** The domain of its owner's address, if that is verified. */
  readonly ownerDomain: string | undefined;
  readonly user: Profile;
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
  /** The host that the browser is redirected to. */
  readonly redirectHost: string;
  /** The pending authorization request, signed for this session. */
  readonly request: string;
  readonly csrfToken: string;
  readonly switchAccountTo: string;
};

export function consentPage(props: ConsentProps): Html {
  const { applicationName, user, scope, redirectHost, request, csrfToken, switchAccountTo } = props;
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
${scopesIn(scope).map((requested) => item(requested, props))}</ul>
<div class="actions even">
<button name="decision" value="deny">Deny</button>
<button class="primary" name="decision" value="allow">Allow</button>
</div>
<p class="muted small">Either way you then go to <strong>${redirectHost}</strong>. You can disconnect it at any time under Connections.</p>
</form>
<hr>
<form class="small" method="post" action="/logout">
${csrfField(csrfToken)}
<input type="hidden" name="return_to" value="${switchAccountTo}">
<p class="muted">Signed in as <strong>${user.email}</strong>. <button class="link">Use another account</button></p>
</form>`,
  );
}

/** Verified facts first: the redirect host and, if verified, the owner's domain. The home page is the application's own claim. */
function provenance({ redirectHost, claimedSite, ownerDomain }: ConsentProps): Html {
  const claim =
    claimedSite !== undefined &&
    claimedSite !== redirectHost &&
    html` It says that it belongs to ${claimedSite}.`;
  return ownerDomain
    ? html`From <strong>${redirectHost}</strong>, registered by somebody at <strong>${ownerDomain}</strong>.${claim}`
    : html`From <strong>${redirectHost}</strong>. Who registered it is not confirmed.${claim}`;
}

function item(scope: Scope, { user, optionalScope }: ConsentProps): Html {
  const { name, bit, consentTitle } = scope;
  const values = valueList(valuesOf(user, scope));
  if (!includes(optionalScope, bit))
    return html`<li><strong>${consentTitle}</strong>${values}</li>
`;
  return html`<li><label class="choice"><input type="checkbox" name="scope_${name}" value="yes" checked aria-describedby="scope-${name}-values"> <strong>${consentTitle}</strong> <span class="badge">Optional</span></label><div id="scope-${name}-values" class="indented">${values}</div></li>
`;
}

type Value = readonly [label: string, value: string | null];

/** The user's own values, so that nobody has to guess what a scope means. */
function valuesOf(user: Profile, scope: Scope): readonly Value[] {
  return PROFILE_FIELDS.filter((field) => field.scope === scope.name).flatMap(
    ({ property, consentLabel }): Value[] =>
      consentLabel === undefined ? [] : [[consentLabel, shownValue(user, property)]],
  );
}

function shownValue(user: Profile, property: keyof Profile): string | null {
  if (property === 'email') return `${user.email}, ${user.emailVerified ? 'verified' : 'not verified'}`;
  const value = user[property];
  return value === null ? null : String(value);
}

/** Names unset fields too: the application can read them as soon as they are set. */
function valueList(values: readonly Value[]): Html {
  const unset = values.filter(([, value]) => value === null).map(([label]) => label);
  return html`<dl class="values">${values.map(
    ([label, value]) => value !== null && html`<div><dt>Your ${label}:</dt> <dd>${value}</dd></div>\n`,
  )}</dl>${unset.length > 0 && html`<p class="muted small">Not set by you: ${unset.join(', ')}</p>`}`;
}
