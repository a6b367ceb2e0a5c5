import { type ApplicationErrors, type ApplicationInput, applicationFields } from './application-form.ts';
import { type SecretsProps, secretsPanel } from './application-secrets.ts';
import { applicationTabs } from './application-tabs.ts';
import { stateBadge } from './dashboard.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { buttonForm, copyable, crumbs, csrfField, moment, notice } from './parts.ts';
import { type QuickStartProps, quickStartsPanel } from './quick-starts.ts';

export type ApplicationProps = Omit<SecretsProps, 'csrfToken'> & {
  readonly frame: Frame;
  readonly name: string;
  readonly createdAt: number;
  readonly disabledBy: 'owner' | 'operator' | null;
  readonly input: ApplicationInput;
  readonly errors?: ApplicationErrors;
  /** The action that was just done. */
  readonly done?: string | undefined;
  /** Why the action was not done. */
  readonly refused?: string;
  /** Set when the application came near its rate limit. */
  readonly limitNotice?: string | undefined;
  readonly endpoints: readonly (readonly [name: string, address: string])[];
  readonly exampleUrl: string;
  readonly quickStart: QuickStartProps;
};

export function applicationPage(props: ApplicationProps): Html {
  const { frame, name, disabledBy, done, refused, errors, clientId, createdAt } = props;
  return shellLayout(
    name,
    'dashboard',
    frame,
    html`${crumbs([['/dashboard', 'Applications']], name)}
<div class="row"><h1>${name}</h1>${stateBadge(disabledBy !== null)}</div>
${applicationTabs(clientId, 'settings')}
${done && notice('success', done)}
${refused && notice('error', refused)}
${props.limitNotice && notice('warning', html`${props.limitNotice} <a href="/dashboard/apps/${clientId}/usage">Usage</a>`)}
${errors && notice('error', 'Nothing was saved yet. Please correct what is marked below.')}
${disabledBy !== null && notice('warning', DISABLED[disabledBy])}
<section class="panel"><dl class="body facts">
<dt>Client ID</dt><dd>${copyable('client-id', 'client ID', clientId)}</dd>
<dt>Created</dt><dd>${moment(createdAt)}</dd>
</dl></section>
${secretsPanel({ ...props, csrfToken: frame.csrfToken })}
${settings(props)}
${integration(props)}
${quickStartsPanel(props.quickStart)}
${disableOrDelete(props)}`,
  );
}

const DISABLED = {
  owner:
    'This application is disabled: nobody can connect to it, and its credentials and tokens are refused.',
  operator:
    'The people who run this service have disabled this application: nobody can connect to it, and its credentials and tokens are refused. Only they can enable it again.',
};

function settings({ clientId, frame, input, errors }: ApplicationProps): Html {
  return html`<form class="panel" method="post" action="/dashboard/apps/${clientId}" aria-labelledby="settings">
<header><h2 id="settings">Settings</h2></header>
<div class="body stack">
${csrfField(frame.csrfToken)}
${applicationFields(input, errors)}
</div>
<footer class="row"><button class="primary">Save changes</button><span class="small muted">Changes take effect at once.</span></footer>
</form>`;
}

function integration({ endpoints, exampleUrl }: ApplicationProps): Html {
  const endpoint = ([name, address]: readonly [string, string], index: number) =>
    html`<dt>${name}</dt><dd>${copyable(`endpoint-${index}`, `address of ${name}`, address)}</dd>\n`;
  return html`<section class="panel" aria-labelledby="integration">
<header><h2 id="integration">Integration</h2></header>
<div class="body stack">
<dl class="facts">
${endpoints.map(endpoint)}</dl>
<h3>Send people here to connect</h3>
${copyable('example-url', 'example address', breakable(exampleUrl))}
<p class="small muted">STATE and CODE_CHALLENGE are fresh each time. CODE_CHALLENGE is BASE64URL(SHA256(code_verifier)): PKCE is mandatory, with S256.</p>
</div>
</section>`;
}

/** Line breaks are allowed before each parameter. */
const breakable = (url: string): Html =>
  html`${url.split(/(?=&)/).map((part, index) => (index === 0 ? part : html`<wbr>${part}`))}`;

function disableOrDelete({ clientId, frame, disabledBy }: ApplicationProps): Html {
  const path = `/dashboard/apps/${clientId}`;
  const change = (label: string, verb: string, className: string) =>
    buttonForm({ action: `${path}/${verb}`, csrfToken: frame.csrfToken, label, className });
  return html`<section class="panel danger" aria-labelledby="ending">
<header><h2 id="ending">Disable or delete</h2></header>
<ul class="list">
${
  disabledBy === null &&
  html`<li class="row spread"><div><h3>Disable</h3><p class="small muted">Refuses its credentials and tokens until you enable it again.</p></div>${change('Disable', 'disable', 'danger')}</li>`
}
${
  disabledBy === 'owner' &&
  html`<li class="row spread"><div><h3>Enable</h3><p class="small muted">Its credentials and the tokens it had work again.</p></div>${change('Enable', 'enable', '')}</li>`
}
<li class="row spread"><div><h3>Delete</h3><p class="small muted">For good. Everybody who connected it is disconnected.</p></div><a class="button danger" href="${path}/delete">Delete…</a></li>
</ul>
</section>`;
}
