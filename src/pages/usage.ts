import { applicationHead } from './application-tabs.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { notice } from './parts.ts';

export type UsageBar = {
  readonly at: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Most requests in one minute. */
  readonly peak: number;
};

type UsageProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly name: string;
  readonly span: 'day' | 'week' | 'month';
  readonly bars: readonly UsageBar[];
  readonly errors: readonly { readonly title: string; readonly requests: number }[];
  readonly activeUsers: number;
  readonly peak: number;
  readonly limit: number;
  /** How many more active users the limit allows, where that can be estimated. */
  readonly room: number | undefined;
  readonly nearLimit: boolean;
};

const SPANS = [
  ['day', 'Day'],
  ['week', 'Week'],
  ['month', 'Month'],
] as const;

export function usagePage(props: UsageProps): Html {
  const { frame, nearLimit, peak, limit } = props;
  return shellLayout(
    `Usage of ${props.name}`,
    'dashboard',
    frame,
    html`${applicationHead(props, 'usage', 'Usage')}
${spans(props)}
${nearLimit && notice('warning', nearLimitNotice(peak, limit))}
<section class="panel"><dl class="body figures">${figures(props)}</dl></section>
${chartPanel(props)}
${errorsPanel(props)}`,
  );
}

export const nearLimitNotice = (peak: number, limit: number): string =>
  peak >= limit
    ? `The rate limit was reached: ${limit} requests a minute. Requests beyond it are refused with 429. Refresh only when an access token is about to expire, and ask the people who run this service for more if you need it.`
    : `The busiest minute used ${peak} of ${limit} requests. Beyond the limit requests are refused with 429: spread them out, or ask the people who run this service for more.`;

function spans({ clientId, span }: UsageProps): Html {
  return html`<nav class="row" aria-label="Span of time">${SPANS.map(([id, label]) => html`<a class="button small" href="/dashboard/apps/${clientId}/usage?span=${id}"${id === span && html` aria-current="true"`}>${label}</a>\n`)}</nav>`;
}

function figures({ bars, activeUsers, peak, limit, room }: UsageProps): Html {
  const requests = bars.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0);
  const failed = bars.reduce((sum, bar) => sum + bar.failed, 0);
  const share = requests === 0 ? '' : ` (${((failed / requests) * 100).toFixed(1)} %)`;
  return html`<div><dt>Requests</dt><dd>${number(requests)}<small>authorize, token and revoke</small></dd></div>
<div><dt>Failed</dt><dd>${number(failed)}<small>of all${share}</small></dd></div>
<div><dt>Active users</dt><dd>${activeUsers > 50 && 'about '}${number(activeUsers)}<small>got tokens in this time</small></dd></div>
<div><dt>Rate limit</dt><dd>peak ${peak} of ${limit}<small>a minute${room !== undefined && `; about ${number(room)} more active users fit`}</small></dd></div>`;
}

const number = (value: number): string => value.toLocaleString('en-GB');

const WIDTH = 720;
const HEIGHT = 190;
const FLOOR = HEIGHT - 30;
const TOP = 22;

function chartPanel(props: UsageProps): Html {
  const { bars, span } = props;
  return html`<section class="panel" aria-labelledby="chart">
<header class="row spread"><h2 id="chart">Requests ${span === 'day' ? 'an hour' : 'a day'}</h2><span class="row small"><span class="legend">succeeded</span><span class="legend failed">failed</span></span></header>
<div class="body stack">
${chart(bars, span)}
<details><summary>The same as a table</summary>
<div class="scroll" tabindex="0" role="region" aria-label="Requests as a table"><table>
<thead><tr><th scope="col">${span === 'day' ? 'Hour (UTC)' : 'Day (UTC)'}</th><th scope="col" class="number">Succeeded</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Peak a minute</th></tr></thead>
<tbody>
${bars.map(({ at, succeeded, failed, peak }) => html`<tr><th scope="row">${label(at, span, true)}</th><td class="number">${number(succeeded)}</td><td class="number">${number(failed)}</td><td class="number">${peak}</td></tr>\n`)}</tbody>
</table></div></details>
</div>
</section>`;
}

/** The table below has the same figures, for those who cannot see it. */
function chart(bars: readonly UsageBar[], span: UsageProps['span']): Html {
  const max = Math.max(1, ...bars.map(({ succeeded, failed }) => succeeded + failed));
  const step = WIDTH / bars.length;
  const labelEvery = span === 'week' ? 1 : span === 'day' ? 4 : 5;
  const scaled = (value: number) => Math.round(((FLOOR - TOP) * value * 10) / max) / 10;
  const column = ({ at, succeeded, failed }: UsageBar, index: number) => {
    const x = Math.round((index * step + step * 0.12) * 10) / 10;
    const width = Math.round(step * 7.6) / 10;
    const [good, bad] = [scaled(succeeded), scaled(failed)];
    return html`<rect class="ok" x="${x}" y="${FLOOR - good}" width="${width}" height="${good}"/><rect class="failed" x="${x}" y="${FLOOR - good - bad}" width="${width}" height="${bad}"/>${index % labelEvery === 0 && html`<text x="${x}" y="${HEIGHT - 6}">${label(at, span, false)}</text>`}
`;
  };
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Requests over time; the table below has the figures">
<line class="axis" x1="0" y1="${FLOOR + 0.5}" x2="${WIDTH}" y2="${FLOOR + 0.5}"/><text x="0" y="16">${number(max)}</text>
${bars.map(column)}</svg>`;
}

function label(at: number, span: UsageProps['span'], whole: boolean): string {
  const iso = new Date(at).toISOString();
  const day = iso.slice(5, 10);
  if (span !== 'day') return day;
  return whole ? `${day} ${iso.slice(11, 16)}` : iso.slice(11, 16);
}

function errorsPanel({ clientId, errors }: UsageProps): Html {
  return html`<section class="panel" aria-labelledby="errors">
<header class="row spread"><h2 id="errors">Errors by reason</h2><a href="/dashboard/apps/${clientId}/requests?outcome=failure">See them</a></header>
${
  errors.length === 0
    ? html`<div class="body"><p class="muted">None in this time.</p></div>`
    : html`<table><thead><tr><th scope="col">Reason</th><th scope="col" class="number">Requests</th></tr></thead>
<tbody>
${errors.map(({ title, requests }) => html`<tr><td>${title}</td><td class="number">${number(requests)}</td></tr>\n`)}</tbody></table>`
}
</section>`;
}
