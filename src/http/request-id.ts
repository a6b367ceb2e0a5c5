import { randomBytes } from 'node:crypto';

const COUNTER_DIGITS = 4;
const COUNTER_SIZE = 36 ** COUNTER_DIGITS;

/**
 * Ids that are unique over restarts and nodes and sort by time: the time, a counter, and random digits of the
 * process. The log's tables rely on the order.
 */
export function requestIds(now: () => number): () => string {
  const suffix = randomBytes(5).toString('hex');
  const digits = (number: number, length: number) => number.toString(36).padStart(length, '0');
  let count = 0;
  // Formatting the time once per millisecond saves a measurable part of a request.
  let [time, prefix] = [0, ''];
  return () => {
    count = (count + 1) % COUNTER_SIZE;
    const at = now();
    if (at !== time) [time, prefix] = [at, digits(at, 9)];
    return prefix + digits(count, COUNTER_DIGITS) + suffix;
  };
}
