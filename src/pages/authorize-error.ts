import type { UnredirectableFault } from '../protocol/authorization-request.ts';
import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

export type AuthorizeErrorProps = {
  readonly fault: UnredirectableFault;
  readonly applicationName: string | undefined;
  readonly clientId: string | undefined;
  readonly redirectUri: string | undefined;
  readonly requestId: string;
};

/** For the developer: what is wrong, and what makes it right. */
const WRONG: Record<UnredirectableFault, { readonly what: string; readonly fix: string }> = {
  client_id_missing: {
    what: 'client_id is missing or given more than once.',
    fix: 'Send the client_id of your application exactly once. Its page on the dashboard shows it.',
  },
  client_unknown: {
    what: 'No application is registered under this client_id.',
    fix: 'Compare it with the one on the dashboard. It may be of another environment, or the application was deleted.',
  },
  client_disabled: {
    what: 'The application is disabled.',
    fix: 'Its owner can see on the dashboard whether they or the people who run this service disabled it.',
  },
  redirect_uri_missing: {
    what: 'redirect_uri is missing or given more than once.',
    fix: 'Send exactly one redirect_uri, also when the application has registered only one.',
  },
  redirect_uri_unregistered: {
    what: 'redirect_uri is not registered for this application.',
    fix: 'It must be equal to a registered one, character for character: scheme, host, port, path, a slash at the end, query and capitals. The dashboard lists the registered ones to the application’s owner.',
  },
};

const MAX_SHOWN_LENGTH = 2000;

/** For both who may read it: the user, who did nothing wrong, and the developer, who can mend it. */
export function authorizeErrorPage(props: AuthorizeErrorProps): Html {
  const { fault, applicationName, requestId } = props;
  const { what, fix } = WRONG[fault];
  const who = applicationName
    ? html`<strong>${applicationName}</strong>`
    : html`The application that sent you here`;
  return gateLayout(
    'This request cannot be answered',
    html`<h1>This request cannot be answered</h1>
<p>${fault === 'client_disabled' ? html`${who} is switched off at the moment.` : html`${who} asked in a way that is not safe to answer.`} You did nothing wrong, and nothing was shared.</p>
<p>Go back and try again later. If it stays like this, tell the people who make the application, with the request number below.</p>
<details>
<summary>For the developer</summary>
<div class="stack">
<p>${what} ${fix}</p>
<dl class="details stacked">
${sent('client_id', props.clientId)}
${sent('redirect_uri', props.redirectUri)}
<dt>reason</dt><dd><code>${fault}</code></dd>
</dl>
<p>If it is your application: <a href="/errors/${requestId}">see this request in its log</a>.</p>
</div>
</details>
<p class="muted small">Request ${requestId}</p>`,
  );
}

/** As it was sent, as text: never a link that somebody could follow. */
const sent = (name: string, value: string | undefined): Html =>
  html`<dt>${name}, as received</dt><dd>${value === undefined ? 'nothing usable' : html`<code>${value.slice(0, MAX_SHOWN_LENGTH)}</code>`}</dd>`;
