import type { App } from '../app.ts';
import { htmlResponse } from '../http/html-response.ts';
import { type UsageBar, usagePage } from '../pages/usage.ts';
import { estimate } from '../protocol/distinct-count.ts';
import { DAY_MS, HOUR_MS } from '../request-log/usage-counts.ts';
import type { Application } from '../store/applications.ts';
import type { UsageHour } from '../store/usage.ts';
import { titleOf } from './failure-explanations.ts';
import { requireOwnedApp } from './require-owned-app.ts';

const SPANS = {
  day: { bars: 24, bar: HOUR_MS },
  week: { bars: 7, bar: DAY_MS },
  month: { bars: 30, bar: DAY_MS },
} as const;
type Span = keyof typeof SPANS;

/** The share of the limit from which on the developer is warned. */
const NEAR_LIMIT = 0.8;

/** GET /dashboard/apps/:client_id/usage */
export const showUsage = requireOwnedApp(async (app, { http, application, frame }) => {
  const { clientId, name } = application;
  const span = spanOf(http.query.get('span'));
  await app.requestLog.flushForReader();
  const since = firstBar(app.now(), span);
  const [hours, registers] = await Promise.all([
    app.store.usage.hours(clientId, since),
    app.store.usage.registers(clientId, Math.floor(since / DAY_MS) * DAY_MS),
  ]);
  const activeUsers = estimate(registers);
  const peak = peakOf(hours);
  const limit = app.clientLimits.limitOf(application);
  const content = usagePage({
    frame,
    clientId,
    name,
    span,
    bars: barsOf(hours, span, since),
    errors: errorsOf(hours),
    activeUsers,
    peak,
    limit,
    room:
      peak > 0 && activeUsers > 0 ? Math.floor((activeUsers * Math.max(0, limit - peak)) / peak) : undefined,
    nearLimit: peak >= NEAR_LIMIT * limit,
  });
  return htmlResponse(content);
});

const spanOf = (text: string | undefined): Span => (text === 'week' || text === 'month' ? text : 'day');

/** The last bar is the current hour or day. */
function firstBar(now: number, span: Span): number {
  const { bars, bar } = SPANS[span];
  return Math.floor(now / bar) * bar - (bars - 1) * bar;
}

const peakOf = (hours: readonly UsageHour[]): number => Math.max(0, ...hours.map(({ peak }) => peak));

function barsOf(hours: readonly UsageHour[], span: Span, since: number): UsageBar[] {
  const { bars, bar } = SPANS[span];
  const sum = (of: readonly UsageHour[]) => of.reduce((total, { requests }) => total + requests, 0);
  return Array.from({ length: bars }, (_, index) => {
    const at = since + index * bar;
    const within = hours.filter(({ hour }) => hour >= at && hour < at + bar);
    const succeeded = sum(within.filter(({ reason }) => reason === ''));
    return { at, succeeded, failed: sum(within) - succeeded, peak: peakOf(within) };
  });
}

function errorsOf(hours: readonly UsageHour[]) {
  const counts = new Map<string, number>();
  for (const { reason, requests } of hours) {
    if (reason !== '') counts.set(reason, (counts.get(reason) ?? 0) + requests);
  }
  return [...counts]
    .map(([reason, requests]) => ({ title: titleOf(reason), requests }))
    .toSorted((a, b) => b.requests - a.requests);
}

/** The last day's highest use of the rate limit; undefined when it was far from the limit. */
export async function peakNearLimit(app: App, application: Application): Promise<number | undefined> {
  const hours = await app.store.usage.hours(application.clientId, app.now() - DAY_MS);
  const peak = peakOf(hours);
  return peak >= NEAR_LIMIT * app.clientLimits.limitOf(application) ? peak : undefined;
}
