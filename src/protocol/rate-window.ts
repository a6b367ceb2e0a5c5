/**
 * Counting requests in windows that begin with the first request. Pure: the caller
 * passes the time. Memory is bounded: at most `capacity` keys are kept, the windows
 * that began first make room.
 */
export type RateWindow = { readonly startedAt: number; readonly count: number };

export class RateWindows {
  /** Insertion order is the order of the windows' beginnings, because a new window is always inserted anew. */
  readonly #windows = new Map<string, { startedAt: number; count: number }>();
  readonly #length: number;
  readonly #capacity: number;

  constructor(lengthMs: number, capacity = 100_000) {
    this.#length = lengthMs;
    this.#capacity = capacity;
  }

  /**
   * Counts one request and returns its window. A window that opens now begins at `opensAt`,
   * so that two counters asked one after the other share their edges.
   */
  hit(key: string, now: number, opensAt = now): RateWindow {
    const open = this.#windows.get(key);
    if (open && now - open.startedAt < this.#length) {
      open.count++;
      return open;
    }
    this.#windows.delete(key);
    if (this.#windows.size >= this.#capacity) this.#makeRoom();
    const opened = { startedAt: opensAt, count: 1 };
    this.#windows.set(key, opened);
    return opened;
  }

  /** Counts one less in the key's window. */
  refund(key: string): void {
    const open = this.#windows.get(key);
    if (open && open.count > 0) open.count--;
  }

  #makeRoom(): void {
    const oldest = this.#windows.keys().next();
    if (!oldest.done) this.#windows.delete(oldest.value);
  }
}

export type RateLimitState = {
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly exceeded: boolean;
};

/** What the three RateLimit headers say of a window (draft-ietf-httpapi-ratelimit-headers-06). */
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

/** Over either counter is over; what remains is the smaller of the two. */
export function tighter(a: RateLimitState, b: RateLimitState): RateLimitState {
  if (a.exceeded !== b.exceeded) return a.exceeded ? a : b;
  return b.remaining < a.remaining ? b : a;
}
