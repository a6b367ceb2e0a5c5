/**
 * How many entries one application may have in the log: a burst, and then so many a second. What a stranger
 * sends in its name has a share of its own: it must not crowd out what the application itself did.
 */
const PROVEN = { burst: 100, aSecond: 20 };
const UNPROVEN = { burst: 50, aSecond: 5 };
const MOST_KNOWN = 10_000;

type Share = { left: number; at: number };

export class LogBudget {
  readonly #proven = new Map<string, Share>();
  readonly #unproven = new Map<string, Share>();

  /** False when the share is used up. `now` is in milliseconds, of any clock that does not jump. */
  take(clientId: string, proven: boolean, now: number): boolean {
    const shares = proven ? this.#proven : this.#unproven;
    const { burst, aSecond } = proven ? PROVEN : UNPROVEN;
    let share = shares.get(clientId);
    if (!share) {
      if (shares.size >= MOST_KNOWN) shares.clear();
      share = { left: burst, at: now };
      shares.set(clientId, share);
    }
    share.left = Math.min(burst, share.left + ((now - share.at) / 1000) * aSecond);
    share.at = now;
    if (share.left < 1) return false;
    share.left--;
    return true;
  }
}
