import { hash, randomBytes } from 'node:crypto';

/**
 * What a mailed link carries. The database holds its hash alone; 256 random bits need no slow one.
 * A link of a user's also names the user, so that it is looked up where the user's rows are.
 */
const SIGN_UP = /^[A-Za-z0-9_-]{43}$/;
const USER = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

export const newMailedToken = (): string => randomBytes(32).toString('base64url');

export const hashMailedToken = (token: string): string => hash('sha256', token, 'hex');

export const isMailedToken = (text: string): boolean => SIGN_UP.test(text);

export type UserToken = { readonly userId: string; readonly tokenHash: string };

export function readUserToken(text: string | undefined): UserToken | undefined {
  const match = USER.exec(text ?? '');
  return match ? { userId: match[1]!, tokenHash: hashMailedToken(match[2]!) } : undefined;
}
