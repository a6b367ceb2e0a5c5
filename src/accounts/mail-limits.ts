import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { network } from '../protocol/address.ts';
import { emailKey } from '../store/users.ts';

const WINDOW_MS = 60 * 60_000;
/** An hour. Nobody's mailbox is filled, and nobody fills many. */
const PER_RECIPIENT = 5;
const PER_ADDRESS = 20;

export type MailLimit =
  | { readonly outcome: 'send' }
  /** The recipient has had enough. The asker is told nothing of it: it would tell who gets mail here. */
  | { readonly outcome: 'skip' }
  | { readonly outcome: 'wait'; readonly seconds: number };

/** Counted alike for addresses that have an account and those that have none. */
export async function countMail(app: App, recipient: string, address: string): Promise<MailLimit> {
  const now = app.now();
  const count = (key: string) => app.store.counters.hit(key, WINDOW_MS, now, now);
  const asker = await count(`mail from ${network(address)}`);
  if (asker.count > PER_ADDRESS)
    return { outcome: 'wait', seconds: Math.ceil((asker.startedAt + WINDOW_MS - now) / 1000) };
  const received = await count(`mail to ${hash('sha256', emailKey(recipient), 'base64url')}`);
  return { outcome: received.count > PER_RECIPIENT ? 'skip' : 'send' };
}
