import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { type Budget, networkBudgets, networkLimit } from '../limits/budget.ts';
import { emailKey } from '../protocol/email-address.ts';
import type { Limit } from '../protocol/rate-window.ts';
import { recordEventLater } from './security-events.ts';

/** The window ends by itself: nobody is locked out for good. */
const WINDOW_MS = 15 * 60_000;
const PER_NETWORK = networkLimit({ name: 'login', windowMs: WINDOW_MS, max: 100 });
const PER_ACCOUNT: Limit = { name: 'login account', windowMs: WINDOW_MS, max: 10 };
const PER_DEVICE: Limit = { name: 'login device', windowMs: WINDOW_MS, max: 10 };
const PER_SESSION: Limit = { name: 'login session', windowMs: WINDOW_MS, max: 10 };
const PER_LINK: Limit = { name: 'login link', windowMs: WINDOW_MS, max: 10 };
/** So many wrong passwords in one window appear in the user's recent activity, once. */
const BURST = 5;
const REPORTS_BURST: readonly Limit[] = [PER_ACCOUNT, PER_DEVICE, PER_SESSION];

export type Attempt = 'right' | 'wrong' | { readonly waitSeconds: number };

/**
 * Limits wrong passwords (docs/decisions/023-passwords.md). An attempt is counted before its password is checked, so
 * that parallel attempts count too. It is refunded when the password is right, and when it could not be checked.
 */
export class LoginThrottle {
  readonly #app: App;
  readonly #budgets: readonly Budget[];
  readonly #counted: Budget[] = [];
  #burstId: string | undefined;

  private constructor(app: App, budgets: readonly Budget[]) {
    this.#app = app;
    this.#budgets = budgets;
  }

  /**
   * Strangers share the account's budget. A browser with a device cookie for this account has its own, so
   * that strangers who use up theirs do not lock the user out.
   */
  static atSignIn(app: App, email: string, address: string, deviceId: string | undefined): LoginThrottle {
    const target = deviceId ? { limit: PER_DEVICE, key: deviceId } : accountBudget(email);
    // The network first: one that is over its limit must not go on to use up the budgets of accounts.
    return new LoginThrottle(app, [...networkBudgets(PER_NETWORK, address), target]);
  }

  /** For pages that ask a signed-in user for the password again. */
  static inSession(app: App, sessionHash: string): LoginThrottle {
    return new LoginThrottle(app, [{ limit: PER_SESSION, key: sessionHash }]);
  }

  /** For a mailed link that needs a password to take effect. */
  static withLink(app: App, tokenHash: string, address: string): LoginThrottle {
    return new LoginThrottle(app, [
      ...networkBudgets(PER_NETWORK, address),
      { limit: PER_LINK, key: tokenHash },
    ]);
  }

  /** Runs `check`, unless a budget is used up. */
  async attempt(check: () => Promise<Attempt>): Promise<Attempt> {
    const wait = await this.#count(this.#budgets);
    if (wait) return wait;
    try {
      const result = await check();
      if (result === 'right') await this.#refund();
      return result;
    } catch (error) {
      // The server was busy or failed: nobody has learnt anything about the password.
      await this.#refund();
      throw error;
    }
  }

  /** For a browser whose device cookie turns out to be outdated: it shares the account's budget after all. */
  countAsStranger(email: string): Promise<Attempt | undefined> {
    return this.#count([accountBudget(email)]);
  }

  /** To be called when the password was wrong: records the attempt that completes a burst. */
  recordBurst(request: HttpRequest, userId: string): void {
    if (this.#burstId === undefined) return;
    recordEventLater(this.#app, request, userId, 'failed_sign_ins', { id: this.#burstId });
  }

  /** Undefined when the password may be checked. */
  async #count(budgets: readonly Budget[]): Promise<Attempt | undefined> {
    const now = this.#app.now();
    for (const budget of budgets) {
      const { limit, key } = budget;
      const window = await this.#app.store.counters.hit(limit, key, now, now);
      this.#counted.push(budget);
      if (window.count === BURST && REPORTS_BURST.includes(limit))
        this.#burstId = `${digest(`${limit.name} ${key}`)} ${window.startedAt}`;
      if (window.count > limit.max)
        return { waitSeconds: Math.ceil((window.startedAt + WINDOW_MS - now) / 1000) };
    }
    return undefined;
  }

  async #refund(): Promise<void> {
    await Promise.all(this.#counted.map(({ limit, key }) => this.#app.store.counters.refund(limit, key)));
  }
}

const accountBudget = (email: string): Budget => ({ limit: PER_ACCOUNT, key: digest(emailKey(email)) });

const digest = (text: string): string => hash('sha256', text, 'base64url');

export function tooManyAttempts(waitSeconds: number): string {
  const minutes = Math.ceil(waitSeconds / 60);
  return `Too many attempts. Please try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`;
}
