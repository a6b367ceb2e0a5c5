import { hash, randomBytes } from 'node:crypto';
import type { Signer } from '../keys/signer.ts';
import { emailKey } from '../protocol/email-address.ts';
import type { User } from '../store/users.ts';

/**
 * The device cookie lists, each signed, the accounts that this browser signed in to before. It grants no access:
 * it gives the browser login attempts of its own, which strangers cannot use up (OWASP, device cookies). An entry names
 * the account by its email, so that attempts can be counted before the account is looked up, and the password by which
 * the browser signed in, because a new password ends it.
 */
const PURPOSE = 'device';
const MAX_ACCOUNTS = 5;
const TAG = '([A-Za-z0-9_-]{22})';
const ENTRY = new RegExp(`^${TAG}\\.${TAG}\\.${TAG}\\.([A-Za-z0-9_-]{43})$`);

/** A browser that signed in to an account, with the password that `passwordTag` stands for. */
export type Device = { readonly id: string; readonly passwordTag: string };

type Account = Pick<User, 'email' | 'passwordHash'>;
type Entry = {
  readonly text: string;
  readonly accountTag: string;
  readonly nonce: string;
  readonly passwordTag: string;
};

/** 132 bits that tell nothing about the value without the key. */
const tag = (signer: Signer, purpose: string, value: string): string =>
  signer.sign(`${PURPOSE} ${purpose}`, value).slice(0, 22);
const accountTagOf = (signer: Signer, email: string): string => tag(signer, 'account', emailKey(email));
const passwordTagOf = (signer: Signer, passwordHash: string): string => tag(signer, 'password', passwordHash);

function entriesOf(signer: Signer, cookie: string): Entry[] {
  return cookie.split('~', MAX_ACCOUNTS).flatMap((text) => {
    const [, accountTag, nonce, passwordTag, signature] = ENTRY.exec(text) ?? [];
    if (!accountTag || !nonce || !passwordTag || !signature) return [];
    const isSigned = signer.verify(PURPOSE, `${accountTag} ${nonce} ${passwordTag}`, signature);
    return isSigned ? [{ text, accountTag, nonce, passwordTag }] : [];
  });
}

/** Undefined without a valid entry for this email. The entry may be of an earlier password. */
export function deviceFor(signer: Signer, cookie: string, email: string): Device | undefined {
  if (cookie === '') return undefined;
  const accountTag = accountTagOf(signer, email);
  const entry = entriesOf(signer, cookie).find((candidate) => candidate.accountTag === accountTag);
  return entry && { id: hash('sha256', entry.nonce, 'base64url'), passwordTag: entry.passwordTag };
}

/** False for an unknown user, too. */
export const isCurrent = (signer: Signer, device: Device, user: Account | undefined): boolean =>
  user !== undefined && device.passwordTag === passwordTagOf(signer, user.passwordHash);

/** The cookie with this account added, the latest first. */
export function addAccount(signer: Signer, cookie: string, { email, passwordHash }: Account): string {
  const [accountTag, passwordTag] = [accountTagOf(signer, email), passwordTagOf(signer, passwordHash)];
  const entries = entriesOf(signer, cookie);
  const existing = entries.find((one) => one.accountTag === accountTag && one.passwordTag === passwordTag);
  const others = entries.filter((one) => one.accountTag !== accountTag);
  return [existing?.text ?? newEntry(signer, accountTag, passwordTag), ...others.map(({ text }) => text)]
    .slice(0, MAX_ACCOUNTS)
    .join('~');
}

function newEntry(signer: Signer, accountTag: string, passwordTag: string): string {
  const nonce = randomBytes(16).toString('base64url');
  const signature = signer.sign(PURPOSE, `${accountTag} ${nonce} ${passwordTag}`);
  return `${accountTag}.${nonce}.${passwordTag}.${signature}`;
}
