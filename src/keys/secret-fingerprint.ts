import { PasswordHasher } from '../passwords/password-hasher.ts';
import type { KeyStore } from '../store/store.ts';

/**
 * The database keeps a slow hash of the secret, so that a node with another secret does not start:
 * otherwise its tokens would be refused by the other nodes, seemingly at random.
 *
 * Returns whether the database belongs to this secret. A new database belongs to the first one that claims it.
 */
export async function claimDatabase(store: KeyStore, secret: string): Promise<boolean> {
  const stored = await store.fingerprint();
  if (stored !== undefined) return matchesFingerprint(secret, stored);
  const candidate = await fingerprintOf(secret);
  const first = await store.keepFingerprint(candidate);
  return first === candidate || matchesFingerprint(secret, first);
}

export const matchesFingerprint = (secret: string, fingerprint: string): Promise<boolean> =>
  new PasswordHasher().verify(secret, fingerprint);

/** Makes the database belong to this secret, whichever it belonged to. */
export async function adoptSecret(store: KeyStore, secret: string): Promise<void> {
  await store.replaceFingerprint(await fingerprintOf(secret));
}

const fingerprintOf = (secret: string): Promise<string> => new PasswordHasher().hash(secret);
