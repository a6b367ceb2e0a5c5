import type { LogEntry } from '../store/request-log.ts';
import { applicationHead } from './application-tabs.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { emptyState, exactMoment } from './parts.ts';

type RequestsProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly name: string;
  readonly entries: readonly (LogEntry & { readonly title: string })[];
  /** The current filter, by field name. */
  readonly chosen: Readonly<Record<'outcome' | 'endpoint' | 'time', string>>;
  readonly filtered: boolean;
  /** The address of the next page, when there is one. */
  readonly older: string | undefined;
  readonly newest: string | undefined;
};

export const CHOICES = {
  outcome: [
    ['', 'All'],
    ['failure', 'Failed'],
    ['success', 'Succeeded'],
  ],
  endpoint: [
    ['', 'All'],
    ['authorize', 'Authorize'],
    ['token', 'Token'],
    ['revoke', 'Revoke'],
  ],
  time: [
    ['', '30 days'],
    ['hour', 'Last hour'],
    ['day', 'Last day'],
    ['week', 'Last week'],
  ],
} as const;

const LABELS = { outcome: 'Outcome', endpoint: 'Endpoint', time: 'Time' };

/** The request log of an application. */
export function requestsPage(props: RequestsProps): Html {
  const { frame, clientId, entries, older, newest } = props;
  return shellLayout(
    `Requests of ${props.name}`,
    'dashboard',
    frame,
    html`${applicationHead(props, 'requests', 'Requests')}
<p class="muted">What was asked in this application’s name at authorize, token and revoke, the newest first. Kept for 30 days, 2,000 at most. Each failure says why.</p>
${filterForm(props)}
<section class="panel">${entries.length === 0 ? nothing(props) : html`<ol class="list compact">\n${entries.map((entry) => item(clientId, entry))}</ol>`}</section>
${(older || newest) && html`<nav class="row" aria-label="Pages">${newest && html`<a class="button" href="${newest}">Newest</a>`}${older && html`<a class="button" href="${older}" rel="next">Older</a>`}</nav>`}`,
  );
}

function filterForm({ clientId, chosen }: RequestsProps): Html {
  const select = (name: keyof typeof CHOICES) =>
    html`<div class="field"><label for="${name}">${LABELS[name]}</label><select id="${name}" name="${name}">
${CHOICES[name].map(([value, label]) => html`<option value="${value}"${value === chosen[name] && html` selected`}>${label}</option>\n`)}</select></div>\n`;
  return html`<form class="filter" method="get" action="/dashboard/apps/${clientId}/requests">
${select('outcome')}${select('endpoint')}${select('time')}<button>Show</button>
</form>`;
}

function nothing({ clientId, filtered }: RequestsProps): Html {
  return filtered
    ? emptyState(
        'Nothing like this',
        'No request of the last 30 days matches what you chose.',
        html`<a class="button" href="/dashboard/apps/${clientId}/requests">Show all</a>`,
      )
    : emptyState(
        'No requests yet',
        'As soon as the application asks for something, it appears here: what it was, what came of it and why.',
        html`<a class="button" href="/dashboard/apps/${clientId}#quick-starts">Quick starts</a>`,
      );
}

function item(clientId: string, entry: RequestsProps['entries'][number]): Html {
  const { id, at, endpoint, title, error, address, userAgent, latencyUs } = entry;
  return html`<li class="stack tight">
<div class="row"><a href="/dashboard/apps/${clientId}/requests/${id}">${title}</a>${outcomeBadge(error)}</div>
<div class="row tight small muted">${exactMoment(at)}<span>${endpoint}</span><span>${address}</span><span>${shortened(userAgent)}</span><span>${latency(latencyUs)}</span><span class="mono">${id}</span></div>
</li>
`;
}

const MAX_SHOWN_LENGTH = 60;
const shortened = (userAgent: string): string =>
  userAgent.length <= MAX_SHOWN_LENGTH ? userAgent : `${userAgent.slice(0, MAX_SHOWN_LENGTH)}…`;

export const outcomeBadge = (error: string): Html =>
  error === ''
    ? html`<span class="badge success">OK</span>`
    : html`<span class="badge danger">${error}</span>`;

export const latency = (microseconds: number): string => `${(microseconds / 1000).toFixed(1)} ms`;
