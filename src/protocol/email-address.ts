import { UNPRINTABLE } from './name.ts';

export const MAX_EMAIL_LENGTH = 254;
/** One @ and a host with a dot: whether mail arrives there is the real proof. */
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/u;
/** What an address could only hold in quotes, and what nobody sees. */
const NOT_IN_EMAIL = /["(),:;<>[\\\]\p{Cc}\p{Cf}]/u;

/** What is wrong with an address that somebody wants to sign in with, or undefined. */
export function emailFault(email: string): string | undefined {
  if (email.length > MAX_EMAIL_LENGTH) return `The e-mail can have at most ${MAX_EMAIL_LENGTH} characters.`;
  if (EMAIL.test(email) && !NOT_IN_EMAIL.test(email)) return undefined;
  return `"${email.replaceAll(new RegExp(UNPRINTABLE, 'gu'), '\ufffd')}" is not an e-mail address such as ada@example.com.`;
}
