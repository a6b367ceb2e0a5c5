export type RateWindow = { readonly startedAt: number; readonly count: number };

/**
 * Counts requests per key in windows that begin with the first request. Memory is bounded: beyond `capacity` keys
 * the oldest window is dropped.
 */
export class RateWindows {
  /** Oldest window first: a Map keeps insertion order, and a new window is always inserted again. */
  readonly #windows = new Map<string, { startedAt: number; count: number }>();
  readonly #lengthMs: number;
  readonly #capacity: number;

  constructor(lengthMs: number, capacity = 100_000) {
    this.#lengthMs = lengthMs;
    this.#capacity = capacity;
  }

  /**
   * Counts one request and returns its window. A window that opens now begins at `opensAt`, so that two counters
   * of one request have the same window.
   */
  hit(key: string, now: number, opensAt = now): RateWindow {
    const open = this.#windows.get(key);
    if (open && now - open.startedAt < this.#lengthMs) {
      open.count++;
      return open;
    }
    this.#windows.delete(key);
    if (this.#windows.size >= this.#capacity) this.#dropOldest();
    const opened = { startedAt: opensAt, count: 1 };
    this.#windows.set(key, opened);
    return opened;
  }

  refund(key: string): void {
    const open = this.#windows.get(key);
    if (open && open.count > 0) open.count--;
  }

  #dropOldest(): void {
    const oldest = this.#windows.keys().next();
    if (!oldest.done) this.#windows.delete(oldest.value);
  }
}

export type RateLimitState = {
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly exceeded: boolean;
};

/** The values of the RateLimit headers (draft-ietf-httpapi-ratelimit-headers-06). */
export function rateLimitState(
  window: RateWindow,
  limit: number,
  lengthMs: number,
  now: number,
): RateLimitState {
  return {
    remaining: Math.max(0, limit - window.count),
    resetSeconds: Math.max(1, Math.ceil((window.startedAt + lengthMs - now) / 1000)),
    exceeded: window.count > limit,
  };
}

/** Of two counters for one request, the one to report: an exceeded one, else the one with less remaining. */
export function tighter(a: RateLimitState, b: RateLimitState): RateLimitState {
  if (a.exceeded !== b.exceeded) return a.exceeded ? a : b;
  return b.remaining < a.remaining ? b : a;
}
