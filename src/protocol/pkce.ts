import { hash } from 'node:crypto';

/** A SHA-256 in base64url without padding has 43 characters (RFC 7636 4.2). */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** 43 to 128 unreserved characters (RFC 7636 4.1). */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export const isChallenge = (text: string): boolean => CHALLENGE.test(text);

/**
 * The S256 challenge of a verifier, or undefined when the verifier is malformed. The statement that redeems the
 * code compares it with the stored challenge.
 */
export function challengeOf(verifier: string): string | undefined {
  return VERIFIER.test(verifier) ? hash('sha256', verifier, 'base64url') : undefined;
}
