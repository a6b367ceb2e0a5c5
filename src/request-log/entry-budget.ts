/**
 * Bounds on how many entries per application enter the log: a burst, then so many per second. Unauthenticated requests
 * have a budget of their own, so that a stranger cannot crowd out what the application itself did.
 */
const AUTHENTICATED = { burst: 100, perSecond: 20 };
const UNAUTHENTICATED = { burst: 50, perSecond: 5 };
const MAX_CLIENTS = 10_000;
const SEARCH_INTERVAL_MS = 1_000;

type Rate = { readonly burst: number; readonly perSecond: number };
type TokenBucket = { left: number; at: number };

/** Keys are bounded by the caller: only client_ids of registered applications get here. */
export class EntryBudget {
  readonly #authenticated = new Map<string, TokenBucket>();
  readonly #unauthenticated = new Map<string, TokenBucket>();
  #searchedAt = Number.NEGATIVE_INFINITY;

  /** False when the budget is used up. `now` is in milliseconds, of any monotonic clock. */
  take(clientId: string, authenticated: boolean, now: number): boolean {
    const buckets = authenticated ? this.#authenticated : this.#unauthenticated;
    const rate = authenticated ? AUTHENTICATED : UNAUTHENTICATED;
    let bucket = buckets.get(clientId);
    if (!bucket) {
      if (buckets.size >= MAX_CLIENTS && !this.#makeRoom(buckets, rate, now)) return false;
      bucket = { left: rate.burst, at: now };
      buckets.set(clientId, bucket);
    }
    bucket.left = refilled(bucket, rate, now);
    bucket.at = now;
    if (bucket.left < 1) return false;
    bucket.left--;
    return true;
  }

  /** A full bucket is the same as none. One in use is never removed: that would renew a budget that is used up. */
  #makeRoom(buckets: Map<string, TokenBucket>, rate: Rate, now: number): boolean {
    if (now - this.#searchedAt < SEARCH_INTERVAL_MS) return false;
    this.#searchedAt = now;
    for (const [clientId, bucket] of buckets)
      if (refilled(bucket, rate, now) >= rate.burst) buckets.delete(clientId);
    return buckets.size < MAX_CLIENTS;
  }
}

const refilled = ({ left, at }: TokenBucket, { burst, perSecond }: Rate, now: number): number =>
  Math.min(burst, left + ((now - at) / 1000) * perSecond);
