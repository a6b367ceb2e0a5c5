/**
 * Which sealing keys open and which one seals. Pure: the caller passes the time. Every node must be
 * able to open what any node seals, so a new key first only opens, until all nodes have read it.
 */
export type ScheduledKey = { readonly number: number; readonly createdAt: number };

/** Key 1 is there from the start and has no record. */
export const FIRST_KEY: ScheduledKey = { number: 1, createdAt: 0 };

/** Nodes read the keys every second: after ten, all have, or cannot reach the database anyway. */
export const PENDING_MS = 10_000;
/** So long after its making a key seals even where it was read just now: long enough for clocks that differ. */
export const MAX_PENDING_MS = 60_000;

export type ScheduledKeyState = {
  readonly key: ScheduledKey;
  readonly state: 'pending' | 'signing' | 'verifying';
  /** When the last thing it sealed has expired; undefined while it seals or is to seal. */
  readonly endsAt: number | undefined;
};

/**
 * The keys that can still be needed, oldest first. `readAt` is when this node first read a key, and
 * `maxTtlMs` how long what a key seals can live.
 */
export function schedule(
  keys: readonly ScheduledKey[],
  now: number,
  maxTtlMs: number,
  readAt: (key: number) => number,
): ScheduledKeyState[] {
  const all = [FIRST_KEY, ...keys.filter(({ number }) => number !== 1)].sort((a, b) => a.number - b.number);
  const settled = ({ number, createdAt }: ScheduledKey) =>
    now - createdAt >= MAX_PENDING_MS || now - readAt(number) >= PENDING_MS;
  const sealing = all.findLast((key) => key.number === 1 || settled(key))!;
  return all.flatMap((key, index): ScheduledKeyState[] => {
    if (key.number > sealing.number) return [{ key, state: 'pending', endsAt: undefined }];
    if (key.number === sealing.number) return [{ key, state: 'signing', endsAt: undefined }];
    const endsAt = all[index + 1]!.createdAt + MAX_PENDING_MS + maxTtlMs;
    return endsAt > now ? [{ key, state: 'verifying', endsAt }] : [];
  });
}
