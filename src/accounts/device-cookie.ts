import { hash, randomBytes } from 'node:crypto';
import type { Signer } from '../keys/signer.ts';

/**
 * The device cookie lists, each signed, the accounts that this browser signed in to before. It grants no access:
 * it gives the browser login attempts of its own, which strangers cannot use up (OWASP, device cookies).
 */
const PURPOSE = 'known browser';
const MAX_ACCOUNTS = 5;
const ENTRY = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

type Entry = { readonly text: string; readonly userId: string; readonly nonce: string };

function entriesOf(signer: Signer, cookie: string): Entry[] {
  return cookie.split('~', MAX_ACCOUNTS).flatMap((text) => {
    const [, userId, nonce, signature] = ENTRY.exec(text) ?? [];
    if (!userId || !nonce || !signature) return [];
    return signer.verify(PURPOSE, `${userId} ${nonce}`, signature) ? [{ text, userId, nonce }] : [];
  });
}

/** The id under which this browser's login attempts at the account are counted; undefined without a valid entry. */
export function deviceIdFor(signer: Signer, cookie: string, userId: string): string | undefined {
  const entry = entriesOf(signer, cookie).find((candidate) => candidate.userId === userId);
  return entry && hash('sha256', entry.nonce, 'base64url');
}

/** The cookie with this account added, the latest first. */
export function addAccount(signer: Signer, cookie: string, userId: string): string {
  const entries = entriesOf(signer, cookie);
  const existing = entries.find((entry) => entry.userId === userId);
  const others = entries.filter((entry) => entry.userId !== userId);
  return [existing?.text ?? newEntry(signer, userId), ...others.map(({ text }) => text)]
    .slice(0, MAX_ACCOUNTS)
    .join('~');
}

function newEntry(signer: Signer, userId: string): string {
  const nonce = randomBytes(16).toString('base64url');
  return `${userId}.${nonce}.${signer.sign(PURPOSE, `${userId} ${nonce}`)}`;
}
