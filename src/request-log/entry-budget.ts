/**
 * How many entries one application may have in the log: a burst, and then so many a second. What a stranger
 * sends in its name has a share of its own: it must not crowd out what the application itself did.
 */
const AUTHENTICATED = { burst: 100, perSecond: 20 };
const UNAUTHENTICATED = { burst: 50, perSecond: 5 };
const MAX_KNOWN = 10_000;

type Share = { left: number; at: number };

export class EntryBudget {
  readonly #authenticated = new Map<string, Share>();
  readonly #unauthenticated = new Map<string, Share>();

  /** False when the share is used up. `now` is in milliseconds, of any clock that does not jump. */
  take(clientId: string, authenticated: boolean, now: number): boolean {
    const shares = authenticated ? this.#authenticated : this.#unauthenticated;
    const { burst, perSecond } = authenticated ? AUTHENTICATED : UNAUTHENTICATED;
    let share = shares.get(clientId);
    if (!share) {
      if (shares.size >= MAX_KNOWN) shares.clear();
      share = { left: burst, at: now };
      shares.set(clientId, share);
    }
    share.left = Math.min(burst, share.left + ((now - share.at) / 1000) * perSecond);
    share.at = now;
    if (share.left < 1) return false;
    share.left--;
    return true;
  }
}
