import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { type Budget, networkBudgets, networkLimit } from '../limits/budget.ts';
import type { Limit } from '../protocol/rate-window.ts';
import { emailKey } from '../store/users.ts';

const WINDOW_MS = 60 * 60_000;
const PER_NETWORK = networkLimit({ name: 'mail', windowMs: WINDOW_MS, max: 20 });
const PER_RECIPIENT: Limit = { name: 'mail recipient', windowMs: WINDOW_MS, max: 5 };

type MailLimit =
  | { readonly outcome: 'send' }
  /** Per-recipient limit reached; not disclosed, to avoid an account oracle. */
  | { readonly outcome: 'skip' }
  | { readonly outcome: 'wait'; readonly seconds: number };

/** Counts a mail that a request causes, whether or not the recipient has an account. */
export async function countMail(app: App, recipient: string, address: string): Promise<MailLimit> {
  const now = app.now();
  const count = ({ limit, key }: Budget) => app.store.counters.hit(limit, key, now, now);
  for (const budget of networkBudgets(PER_NETWORK, address)) {
    const window = await count(budget);
    if (window.count > budget.limit.max)
      return { outcome: 'wait', seconds: Math.ceil((window.startedAt + WINDOW_MS - now) / 1000) };
  }
  const key = hash('sha256', emailKey(recipient), 'base64url');
  const toRecipient = await count({ limit: PER_RECIPIENT, key });
  return { outcome: toRecipient.count > PER_RECIPIENT.max ? 'skip' : 'send' };
}
