import { randomBytes } from 'node:crypto';

const COUNTER_DIGITS = 4;
const COUNTER_SIZE = 36 ** COUNTER_DIGITS;
const MAX_STEP = 16;
/** A clock that was set back by less keeps counting in the time it had reached. */
const MAX_CLOCK_BACK_MS = 1_000;

/**
 * Ids that are unique over restarts and nodes and sort by time: the time, a counter, and random digits of the process.
 * The log's tables rely on the order. The counter starts anywhere in each millisecond and rises in random steps: an id
 * goes to strangers and must not tell how many requests there were.
 */
export function requestIds(now: () => number): () => string {
  let suffix = newSuffix();
  let [time, prefix, count] = [-1, '', 0];
  const begin = (at: number) => {
    // Formatting the time once per millisecond saves a measurable part of a request.
    [time, prefix] = [at, digits(at, 9)];
    count = Math.floor((Math.random() * COUNTER_SIZE) / 2);
  };
  return () => {
    const at = now();
    if (at > time) begin(at);
    else if (at < time - MAX_CLOCK_BACK_MS) {
      suffix = newSuffix();
      begin(at);
    } else {
      count += 1 + Math.floor(Math.random() * MAX_STEP);
      if (count >= COUNTER_SIZE) begin(time + 1);
    }
    return prefix + digits(count, COUNTER_DIGITS) + suffix;
  };
}

const newSuffix = (): string => randomBytes(5).toString('hex');
const digits = (number: number, length: number): string => number.toString(36).padStart(length, '0');
