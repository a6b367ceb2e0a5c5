import { hash, randomBytes } from 'node:crypto';

/**
 * The token in a mailed link: 256 random bits, stored as SHA-256 only (so much randomness needs no slow hash).
 * The link of a user has the form `user-id.token`: it is looked up in the user's shard.
 */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const USER_TOKEN = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

export const newMailedToken = (): string => randomBytes(32).toString('base64url');

export const hashMailedToken = (token: string): string => hash('sha256', token, 'hex');

export const isMailedToken = (text: string): boolean => TOKEN.test(text);

export type UserToken = { readonly userId: string; readonly tokenHash: string };

export function readUserToken(text: string | undefined): UserToken | undefined {
  const match = USER_TOKEN.exec(text ?? '');
  return match ? { userId: match[1]!, tokenHash: hashMailedToken(match[2]!) } : undefined;
}
