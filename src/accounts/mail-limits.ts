import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { type Budget, networkBudgets, networkLimit } from '../limits/budget.ts';
import { network, site } from '../protocol/address.ts';
import { emailKey } from '../protocol/email-address.ts';
import type { Limit } from '../protocol/rate-window.ts';

const WINDOW_MS = 60 * 60_000;
const PER_NETWORK = networkLimit({ name: 'mail', windowMs: WINDOW_MS, max: 20 });
/** Less than the next one: a single network cannot use up a recipient's mails. */
const PER_NETWORK_AND_RECIPIENT: Limit = { name: 'mail network recipient', windowMs: WINDOW_MS, max: 3 };
const PER_RECIPIENT: Limit = { name: 'mail recipient', windowMs: WINDOW_MS, max: 10 };
const PER_DEVICE: Limit = { name: 'mail device', windowMs: WINDOW_MS, max: 5 };

type MailRequest = {
  /** Each kind has budgets of its own: requests of one kind do not use up another. */
  readonly kind: 'sign_up' | 'reset_password' | 'verify_email' | 'change_email';
  readonly recipient: string;
  /** Of the requester. */
  readonly address: string;
  /** A browser that signed in to the recipient's account before has a budget that strangers cannot use up. */
  readonly deviceId?: string | undefined;
};

type MailLimit =
  | { readonly outcome: 'send' }
  /** Limit of the recipient reached; not disclosed, to avoid an account oracle. */
  | { readonly outcome: 'skip' }
  | { readonly outcome: 'wait'; readonly seconds: number };

/** Counts a mail that a request causes, whether or not the recipient has an account. */
export async function countMail(app: App, request: MailRequest): Promise<MailLimit> {
  const now = app.now();
  const count = ({ limit, key }: Budget) => app.store.counters.hit(limit, key, now, now);
  for (const budget of networkBudgets(PER_NETWORK, request.address)) {
    const window = await count(budget);
    if (window.count > budget.limit.max)
      return { outcome: 'wait', seconds: Math.ceil((window.startedAt + WINDOW_MS - now) / 1000) };
  }
  for (const budget of recipientBudgets(request)) {
    if ((await count(budget)).count > budget.limit.max) return { outcome: 'skip' };
  }
  return { outcome: 'send' };
}

function recipientBudgets({ kind, recipient, address, deviceId }: MailRequest): Budget[] {
  if (deviceId !== undefined) return [{ limit: PER_DEVICE, key: `${kind} ${deviceId}` }];
  const key = `${kind} ${hash('sha256', emailKey(recipient), 'base64url')}`;
  const from = site(address) ?? network(address);
  return [
    { limit: PER_NETWORK_AND_RECIPIENT, key: `${key} ${from}` },
    { limit: PER_RECIPIENT, key },
  ];
}
