import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { network } from '../protocol/address.ts';
import { emailKey } from '../store/users.ts';

const WINDOW_MS = 60 * 60_000;
const MAX_PER_RECIPIENT = 5;
const MAX_PER_NETWORK = 20;

type MailLimit =
  | { readonly outcome: 'send' }
  /** Per-recipient limit reached; not disclosed, to avoid an account oracle. */
  | { readonly outcome: 'skip' }
  | { readonly outcome: 'wait'; readonly seconds: number };

/** Counts a mail that a request causes, whether or not the recipient has an account. */
export async function countMail(app: App, recipient: string, address: string): Promise<MailLimit> {
  const now = app.now();
  const count = (key: string) => app.store.counters.hit(key, WINDOW_MS, now, now);
  const fromNetwork = await count(`mail from ${network(address)}`);
  if (fromNetwork.count > MAX_PER_NETWORK)
    return { outcome: 'wait', seconds: Math.ceil((fromNetwork.startedAt + WINDOW_MS - now) / 1000) };
  const toRecipient = await count(`mail to ${hash('sha256', emailKey(recipient), 'base64url')}`);
  return { outcome: toRecipient.count > MAX_PER_RECIPIENT ? 'skip' : 'send' };
}
