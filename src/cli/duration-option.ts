import { InvalidArgumentError } from 'commander';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY };
const MAX_OVERLAP = 30 * DAY;

/** 0, or a whole number of minutes, hours or days, in milliseconds. */
export function parseOverlap(text: string): number {
  const match = /^(\d{1,5})([mhd])$/.exec(text);
  const time = text === '0' ? 0 : match ? Number(match[1]) * UNITS[match[2]!]! : Number.NaN;
  if (time <= MAX_OVERLAP) return time;
  throw new InvalidArgumentError('It must be 0 or a time such as 30m, 24h or 7d, at most 30d.');
}
