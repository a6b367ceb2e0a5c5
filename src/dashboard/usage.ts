import type { App } from '../app.ts';
import { htmlResponse } from '../http/html-response.ts';
import { type UsageBar, usagePage } from '../pages/usage.ts';
import { estimate } from '../protocol/distinct-count.ts';
import { RequestLog } from '../request-log/request-log.ts';
import { DAY_MS, HOUR_MS } from '../request-log/usage-counts.ts';
import type { UsageHour } from '../store/usage.ts';
import { titleOf } from './failure-explanations.ts';
import { requireOwnedApp } from './require-owned-app.ts';

export const SPANS = {
  day: { bars: 24, bar: HOUR_MS },
  week: { bars: 7, bar: DAY_MS },
  month: { bars: 30, bar: DAY_MS },
} as const;
export type Span = keyof typeof SPANS;

/** From this share of the limit on the developer is told. */
const NEAR = 0.8;

/** GET /dashboard/apps/:client_id/usage */
export const showUsage = requireOwnedApp(async (app, { http, application, frame }) => {
  const { clientId, name } = application;
  const asked = http.query.get('span') ?? '';
  const span: Span = asked === 'week' || asked === 'month' ? asked : 'day';
  await RequestLog.of(app).flush();
  const since = firstBar(app.now(), span);
  const [hours, registers] = await Promise.all([
    app.store.usage.hours(clientId, since),
    app.store.usage.registers(clientId, Math.floor(since / DAY_MS) * DAY_MS),
  ]);
  const activeUsers = estimate(registers);
  const peak = largest(hours);
  const limit = app.config.rateLimit;
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
    nearLimit: peak >= NEAR * limit,
  });
  return htmlResponse(content);
});

/** Bars end with the hour or day that is running. */
function firstBar(now: number, span: Span): number {
  const { bars, bar } = SPANS[span];
  return Math.floor(now / bar) * bar - (bars - 1) * bar;
}

const largest = (hours: readonly UsageHour[]): number => Math.max(0, ...hours.map(({ peak }) => peak));

function barsOf(hours: readonly UsageHour[], span: Span, since: number): UsageBar[] {
  const { bars, bar } = SPANS[span];
  const sum = (of: readonly UsageHour[]) => of.reduce((total, { requests }) => total + requests, 0);
  return Array.from({ length: bars }, (_, index) => {
    const at = since + index * bar;
    const within = hours.filter(({ hour }) => hour >= at && hour < at + bar);
    const succeeded = sum(within.filter(({ reason }) => reason === ''));
    return { at, succeeded, failed: sum(within) - succeeded, peak: largest(within) };
  });
}

function errorsOf(hours: readonly UsageHour[]) {
  const counts = new Map<string, number>();
  for (const { reason, requests } of hours) {
    if (reason !== '') counts.set(reason, (counts.get(reason) ?? 0) + requests);
  }
  return [...counts]
    .map(([reason, requests]) => ({ title: titleOf({ error: reason, reason }), requests }))
    .toSorted((a, b) => b.requests - a.requests);
}

/** How near the application came to its limit within the last day; undefined when it is far from it. */
export async function nearLimit(app: App, clientId: string): Promise<number | undefined> {
  const hours = await app.store.usage.hours(clientId, app.now() - DAY_MS);
  const peak = largest(hours);
  return peak >= NEAR * app.config.rateLimit ? peak : undefined;
}
