/**
 * Bounds on how many entries per application enter the log: a burst, then so many per second. Unauthenticated requests
 * have a budget of their own, so that a stranger cannot crowd out what the application itself did.
 */
const AUTHENTICATED = { burst: 100, perSecond: 20 };
const UNAUTHENTICATED = { burst: 50, perSecond: 5 };
const MAX_CLIENTS = 10_000;

type TokenBucket = { left: number; at: number };

/** Keys are bounded by the caller: a client_id that could not have been issued never gets here. */
export class EntryBudget {
  readonly #authenticated = new Map<string, TokenBucket>();
  readonly #unauthenticated = new Map<string, TokenBucket>();

  /** False when the budget is used up. `now` is in milliseconds, of any monotonic clock. */
  take(clientId: string, authenticated: boolean, now: number): boolean {
    const buckets = authenticated ? this.#authenticated : this.#unauthenticated;
    const { burst, perSecond } = authenticated ? AUTHENTICATED : UNAUTHENTICATED;
    let bucket = buckets.get(clientId);
    if (!bucket) {
      if (buckets.size >= MAX_CLIENTS) buckets.clear();
      bucket = { left: burst, at: now };
      buckets.set(clientId, bucket);
    }
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    if (bucket.left < 1) return false;
    bucket.left--;
    return true;
  }
}
