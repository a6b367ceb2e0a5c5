import { hash } from 'node:crypto';

/** RFC 7636 4.2: a SHA-256 in base64url without padding is always 43 characters. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** RFC 7636 4.1: 43 to 128 unreserved characters. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export const isChallenge = (text: string): boolean => CHALLENGE.test(text);

/**
 * The S256 challenge of a verifier, or undefined where it cannot be a verifier at all.
 * The comparison with the stored challenge is part of the redeeming statement.
 */
export function challengeOf(verifier: string): string | undefined {
  return VERIFIER.test(verifier) ? hash('sha256', verifier, 'base64url') : undefined;
}
