import { diff } from '../protocol/text-diff.ts';
import type { LogEntry } from '../store/request-log.ts';
import { applicationHead } from './application-tabs.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { exactMoment } from './parts.ts';
import { latency, outcomeBadge } from './requests.ts';

export type RequestProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly name: string;
  readonly entry: LogEntry;
  readonly title: string;
  /** Of a failure: the exact reason and what helps. */
  readonly explained: { readonly why: string; readonly cure: string } | undefined;
  readonly remark: string | undefined;
  /** The incident that this request began. */
  readonly incident: string | undefined;
};

/** One request: what came of it, why, and what to do. */
export function requestPage(props: RequestProps): Html {
  const { frame, clientId, entry, title, explained, incident, remark } = props;
  return shellLayout(
    title,
    'dashboard',
    frame,
    html`${applicationHead(props, 'requests', title, [[`/dashboard/apps/${clientId}/requests`, 'Requests']])}
${explained && reason(entry, explained)}
${remark && html`<p>${remark}</p>`}
${incident && html`<p><a href="/dashboard/apps/${clientId}/incidents/${incident}">See the incident: every use of this session’s tokens</a></p>`}
${details(entry)}`,
  );
}

function reason({ details }: LogEntry, { why, cure }: NonNullable<RequestProps['explained']>): Html {
  const { sent, expected } = details;
  return html`<section class="panel" aria-labelledby="why">
<header><h2 id="why">Why it failed</h2></header>
<div class="body stack">
<p>${why}</p>
${typeof sent === 'string' && typeof expected === 'string' && comparison(sent, expected)}
${typeof sent === 'string' && expected === undefined && html`<div><h3>Sent</h3><code class="diff">${sent}</code></div>`}
<h3>What helps</h3>
<p>${cure}</p>
</div>
</section>`;
}

/** Both texts whole, each with what the other lacks marked. Nothing in them is a link. */
function comparison(sent: string, expected: string): Html {
  const parts = diff(sent, expected);
  const side = (own: 'sent' | 'expected') =>
    parts
      .filter(({ kind }) => kind === 'same' || kind === own)
      .map(({ kind, text }) => (kind === 'same' ? text : html`<mark class="${own}">${text}</mark>`));
  return html`<div><h3>Sent</h3><code class="diff" id="sent">${side('sent')}</code></div>
<div><h3>Expected</h3><code class="diff" id="expected">${side('expected')}</code></div>`;
}

function details(entry: LogEntry): Html {
  const { id, at, endpoint, error, authenticated, address, userAgent, latencyUs, grantTail, generation } =
    entry;
  const { tail } = entry.details;
  return html`<section class="panel" aria-labelledby="details">
<header><h2 id="details">The request</h2></header>
<dl class="body details">
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
