/**
 * Decides which signing keys verify and which one signs. Every node must be able to verify what any node
 * signs, so a new key is pending until all nodes have read it: it verifies, but does not sign yet.
 */
type ScheduledKey = { readonly number: number; readonly createdAt: number };

/** Key 1 always exists and has no record. */
const FIRST_KEY: ScheduledKey = { number: 1, createdAt: 0 };

/** Nodes read the keys every second: after ten, all have read it, or cannot reach the database anyway. */
export const PENDING_MS = 10_000;
/** A key this old signs even on a node that has just read it. Long enough for clocks that differ. */
export const MAX_PENDING_MS = 60_000;

export type ScheduledKeyState = {
  readonly key: ScheduledKey;
  readonly state: 'pending' | 'signing' | 'verifying';
  /** When everything it signed has expired; undefined while it signs or is pending. */
  readonly endsAt: number | undefined;
};

/**
 * The keys that can still be needed, oldest first. `maxTtlMs` is the longest that a signed credential
 * can live; `readAt` is when this node first read a key.
 */
export function schedule(
  keys: readonly ScheduledKey[],
  now: number,
  maxTtlMs: number,
  readAt: (key: number) => number,
): ScheduledKeyState[] {
  const all = [FIRST_KEY, ...keys.filter(({ number }) => number !== 1)].sort((a, b) => a.number - b.number);
  const isActive = ({ number, createdAt }: ScheduledKey) =>
    now - createdAt >= MAX_PENDING_MS || now - readAt(number) >= PENDING_MS;
  const signing = all.findLast((key) => key.number === 1 || isActive(key))!;
  return all.flatMap((key, index): ScheduledKeyState[] => {
    if (key.number > signing.number) return [{ key, state: 'pending', endsAt: undefined }];
    if (key.number === signing.number) return [{ key, state: 'signing', endsAt: undefined }];
    const endsAt = all[index + 1]!.createdAt + MAX_PENDING_MS + maxTtlMs;
    return endsAt > now ? [{ key, state: 'verifying', endsAt }] : [];
  });
}
