import type { UnredirectableFault } from '../protocol/authorization-request.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

type AuthorizeErrorProps = {
  readonly fault: UnredirectableFault;
  readonly applicationName: string | undefined;
  readonly clientId: string | undefined;
  readonly redirectUri: string | undefined;
  readonly requestId: string;
};

const EXPLANATIONS: Record<UnredirectableFault, { readonly why: string; readonly fix: string }> = {
  client_id_missing: {
    why: 'client_id is missing or given more than once.',
    fix: 'Send the client_id of your application exactly once. Its page on the dashboard shows it.',
  },
  client_unknown: {
    why: 'No application is registered under this client_id.',
    fix: 'Compare it with the one on the dashboard. It may be of another environment, or the application was deleted.',
  },
  client_disabled: {
    why: 'The application is disabled.',
    fix: 'Its owner can see on the dashboard whether they or the people who run this service disabled it.',
  },
  redirect_uri_missing: {
    why: 'redirect_uri is missing or given more than once.',
    fix: 'Send exactly one redirect_uri, also when the application has registered only one.',
  },
  redirect_uri_unregistered: {
    why: 'redirect_uri is not registered for this application.',
    fix: 'It must be equal to a registered one, character for character: scheme, host, port, path, a slash at the end, query and capitals. The dashboard lists the registered ones to the application’s owner.',
  },
};

const MAX_SHOWN_LENGTH = 2000;

/** Has two readers: the user, who did nothing wrong, and the application's developer, who can fix it. */
export function authorizeErrorPage(props: AuthorizeErrorProps): Html {
  const { fault, applicationName, requestId } = props;
  const { why, fix } = EXPLANATIONS[fault];
  const sender = applicationName
    ? html`<strong>${applicationName}</strong>`
    : html`The application that sent you here`;
  return gateLayout(
    'This request cannot be answered',
    html`<h1>This request cannot be answered</h1>
<p>${fault === 'client_disabled' ? html`${sender} is switched off at the moment.` : html`${sender} asked in a way that is not safe to answer.`} You did nothing wrong, and nothing was shared.</p>
<p>Go back and try again later. If it stays like this, tell the people who make the application, with the request number below.</p>
<details>
<summary>For the developer</summary>
<div class="stack">
<p>${why} ${fix}</p>
<dl class="facts stacked">
${received('client_id', props.clientId)}
${received('redirect_uri', props.redirectUri)}
<dt>reason</dt><dd><code>${fault}</code></dd>
</dl>
<p>If it is your application: <a href="/errors/${requestId}">see this request in its log</a>.</p>
</div>
</details>
<p class="muted small">Request ${requestId}</p>`,
  );
}

/** Plain text, never a link: anybody can choose the value. */
const received = (name: string, value: string | undefined): Html =>
  html`<dt>${name}, as received</dt><dd>${value === undefined ? 'nothing usable' : html`<code>${value.slice(0, MAX_SHOWN_LENGTH)}</code>`}</dd>`;
