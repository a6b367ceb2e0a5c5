import { PasswordHasher } from '../passwords/password-hasher.ts';
import type { SqlSecretFingerprint } from '../store/secret-fingerprint.ts';

/**
 * The database keeps a slow hash of the secret, so that a node with another secret does not start:
 * otherwise its tokens would be refused by the other nodes, seemingly at random.
 *
 * Returns whether the database belongs to this secret. A new database belongs to the first one that claims it.
 */
export async function claimDatabase(store: SqlSecretFingerprint, secret: string): Promise<boolean> {
  const stored = await store.find();
  if (stored !== undefined) return matchesFingerprint(secret, stored);
  const candidate = await fingerprintOf(secret);
  const first = await store.keepFirst(candidate);
  return first === candidate || matchesFingerprint(secret, first);
}

export const matchesFingerprint = (secret: string, fingerprint: string): Promise<boolean> =>
  new PasswordHasher().verify(secret, fingerprint);

/** Makes the database belong to this secret, whichever it belonged to. */
export async function adoptSecret(store: SqlSecretFingerprint, secret: string): Promise<void> {
  await store.replace(await fingerprintOf(secret));
}

const fingerprintOf = (secret: string): Promise<string> => new PasswordHasher().hash(secret);
