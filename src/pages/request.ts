import { diff } from '../protocol/text-diff.ts';
import type { LogEntry } from '../store/request-log.ts';
import { applicationHead } from './application-tabs.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { exactMoment } from './parts.ts';
import { latency, outcomeBadge } from './requests.ts';

type RequestProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly name: string;
  readonly entry: LogEntry;
  readonly title: string;
  /** Of a failure. */
  readonly explanation: { readonly why: string; readonly fix: string } | undefined;
  readonly remark: string | undefined;
  /** The id of the incident that this request caused. */
  readonly incident: string | undefined;
};

/** One request: its outcome, why it failed and how to fix it. */
export function requestPage(props: RequestProps): Html {
  const { frame, clientId, entry, title, explanation, incident, remark } = props;
  return shellLayout(
    title,
    'dashboard',
    frame,
    html`${applicationHead(props, 'requests', title, [[`/dashboard/apps/${clientId}/requests`, 'Requests']])}
${explanation && whyItFailed(entry, explanation)}
${remark && html`<p>${remark}</p>`}
${incident && html`<p><a href="/dashboard/apps/${clientId}/incidents/${incident}">See the incident: every use of this session’s tokens</a></p>`}
${details(entry)}`,
  );
}

function whyItFailed({ details }: LogEntry, { why, fix }: NonNullable<RequestProps['explanation']>): Html {
  return html`<section class="panel" aria-labelledby="why">
<header><h2 id="why">Why it failed</h2></header>
<div class="body stack">
<p>${why}</p>
${'sent' in details && details.expected !== undefined && comparison(details.sent, details.expected)}
${'sent' in details && details.expected === undefined && html`<div><h3>Sent</h3><code class="diff">${details.sent}</code></div>`}
<h3>What helps</h3>
<p>${fix}</p>
</div>
</section>`;
}

/** Both texts in full, the differences marked. Never a link that somebody could follow. */
function comparison(sent: string, expected: string): Html {
  const parts = diff(sent, expected);
  const side = (of: 'sent' | 'expected') =>
    parts
      .filter(({ kind }) => kind === 'same' || kind === of)
      .map(({ kind, text }) => (kind === 'same' ? text : html`<mark class="${of}">${text}</mark>`));
  return html`<div><h3>Sent</h3><code class="diff" id="sent">${side('sent')}</code></div>
<div><h3>Expected</h3><code class="diff" id="expected">${side('expected')}</code></div>`;
}

function details(entry: LogEntry): Html {
  const { id, at, endpoint, error, authenticated, address, userAgent, latencyUs, grantTail, generation } =
    entry;
  const tail = 'tail' in entry.details ? entry.details.tail : undefined;
  return html`<section class="panel" aria-labelledby="facts">
<header><h2 id="facts">The request</h2></header>
<dl class="body facts">
<dt>Request ID</dt><dd class="mono">${id}</dd>
<dt>Time</dt><dd>${exactMoment(at)}</dd>
<dt>Endpoint</dt><dd>${endpoint}</dd>
<dt>Outcome</dt><dd>${outcomeBadge(error)}</dd>
<dt>Address</dt><dd>${address}</dd>
<dt>User agent</dt><dd>${userAgent === '' ? 'none' : userAgent}</dd>
<dt>Latency</dt><dd>${latency(latencyUs)}</dd>
<dt>Authenticated</dt><dd>${authentication(endpoint, authenticated)}</dd>
${grantTail !== null && html`<dt>Session</dt><dd><code>…${grantTail}</code>, ${generation === 0 ? 'its code' : `refresh token ${generation}`}</dd>`}
${tail !== undefined && html`<dt>Credential</dt><dd>ends in <code>…${tail}</code></dd>`}
</dl>
</section>`;
}

function authentication(endpoint: string, authenticated: boolean): string {
  if (authenticated) return 'yes, with a secret of this application';
  return endpoint === 'authorize'
    ? 'a user’s browser does not authenticate the application'
    : 'no: anybody who knows the client_id can send this';
}
