import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits, so one SHA-256 is the right hash: slow hashes are for secrets that people choose. */
export const newClientSecret = (): string => `postern_cs_${randomBytes(32).toString('base64url')}`;

/** For the platform's own APIs. Its own prefix, because a leaked one is a different kind of incident. */
export const newResourceServerSecret = (): string => `postern_rs_${randomBytes(32).toString('base64url')}`;

export const hashClientSecret = (secret: string): string => hash('sha256', secret, 'hex');

/** Compares hashes in constant time. Hashes all have one length, so nothing leaks about the secret's length. */
export function secretMatches(presentedHash: string, storedHash: string): boolean {
  const presented = Buffer.from(presentedHash, 'latin1');
  const stored = Buffer.from(storedHash, 'latin1');
  return presented.length === stored.length && timingSafeEqual(presented, stored);
}
