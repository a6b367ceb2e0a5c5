import { InvalidArgumentError } from 'commander';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const UNITS_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
const MAX_OVERLAP_MS = 30 * DAY_MS;

/** Milliseconds of `0`, or of a whole number of minutes, hours or days. */
export function parseOverlap(text: string): number {
  const match = /^(\d{1,5})([mhd])$/.exec(text);
  const overlapMs = text === '0' ? 0 : match ? Number(match[1]) * UNITS_MS[match[2]!]! : Number.NaN;
  if (overlapMs <= MAX_OVERLAP_MS) return overlapMs;
  throw new InvalidArgumentError('It must be 0 or a duration such as 30m, 24h or 7d, at most 30d.');
}
