import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits: one SHA-256 is the right hash for it, a slow one is for what people think up. */
export const newClientSecret = (): string => `postern_cs_${randomBytes(32).toString('base64url')}`;

/** Of the platform's own APIs, with a prefix of its own: a leaked one is another kind of accident. */
export const newResourceServerSecret = (): string => `postern_rs_${randomBytes(32).toString('base64url')}`;

export const hashClientSecret = (secret: string): string => hash('sha256', secret, 'hex');

/** Compares digests, which are of one length whatever was presented, in constant time. */
export function secretMatches(presentedHash: string, storedHash: string): boolean {
  const presented = Buffer.from(presentedHash, 'latin1');
  const stored = Buffer.from(storedHash, 'latin1');
  return presented.length === stored.length && timingSafeEqual(presented, stored);
}
