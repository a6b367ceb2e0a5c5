import { domainToASCII } from 'node:url';
import { UNPRINTABLE } from './name.ts';

export const MAX_EMAIL_LENGTH = 254;
/** One @ and a host with a dot. The real proof is a link mailed to the address. */
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/u;
/** Characters that are allowed only in quoted addresses, and invisible ones. */
const FORBIDDEN = /["(),:;<>[\\\]\p{Cc}\p{Cf}]/u;

/** The error text for an address that a user wants to sign in with. */
export function emailFault(email: string): string | undefined {
  if (email.length > MAX_EMAIL_LENGTH) return `The e-mail can have at most ${MAX_EMAIL_LENGTH} characters.`;
  if (EMAIL.test(email) && !FORBIDDEN.test(email)) return undefined;
  return `"${email.replaceAll(new RegExp(UNPRINTABLE, 'gu'), '\ufffd')}" is not an e-mail address such as ada@example.com.`;
}

const DOMAIN = /^[\p{L}\p{M}\p{N}._-]+$/u;
const ASCII = /^[ -~]*$/;

/**
 * Spellings with the same key are one account: any case, any Unicode normal form, and an international domain in
 * Unicode or in ASCII (`xn--`). The user's own spelling is shown, and mails go to it.
 */
export function emailKey(email: string): string {
  const text = email.trim().normalize('NFC').toLowerCase().normalize('NFC');
  const at = text.lastIndexOf('@') + 1;
  return text.slice(0, at) + asciiDomain(text.slice(at));
}

/** Leaves other characters alone: `domainToASCII` reads them as parts of a URL, and returns `a` for `a/b.example`. */
function asciiDomain(domain: string): string {
  if (ASCII.test(domain) || !DOMAIN.test(domain)) return domain;
  return domainToASCII(domain) || domain;
}
