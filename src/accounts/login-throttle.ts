import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { network } from '../protocol/address.ts';
import { emailKey } from '../store/users.ts';
import { recordEvent } from './security-events.ts';

/** The window ends by itself: nobody is locked out for good. */
const WINDOW_MS = 15 * 60_000;
const MAX_PER_ACCOUNT = 10;
const MAX_PER_NETWORK = 100;
/** So many wrong passwords in one window appear in the user's recent activity, once. */
const BURST = 5;

type Budget = { readonly key: string; readonly max: number; readonly reportsBurst: boolean };

/**
 * Limits wrong passwords (docs/decisions/023-passwords.md). An attempt is counted before its password is
 * checked, so that parallel attempts count too, and refunded when the password is right.
 */
export class LoginThrottle {
  readonly #app: App;
  readonly #budgets: readonly Budget[];
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
    const target = deviceId ? `device ${deviceId}` : `account ${digest(emailKey(email))}`;
    // The network first: one that is over its limit must not go on to use up the budgets of accounts.
    return new LoginThrottle(app, [
      { key: `login network ${network(address)}`, max: MAX_PER_NETWORK, reportsBurst: false },
      { key: `login ${target}`, max: MAX_PER_ACCOUNT, reportsBurst: true },
    ]);
  }

  /** For pages that ask a signed-in user for the password again. */
  static inSession(app: App, sessionHash: string): LoginThrottle {
    const key = `login session ${sessionHash}`;
    return new LoginThrottle(app, [{ key, max: MAX_PER_ACCOUNT, reportsBurst: true }]);
  }

  /** Seconds to wait, or 0 when the password may be checked. */
  async count(): Promise<number> {
    const now = this.#app.now();
    for (const { key, max, reportsBurst } of this.#budgets) {
      const window = await this.#app.store.counters.hit(key, WINDOW_MS, now, now);
      if (reportsBurst && window.count === BURST) this.#burstId = `${digest(key)} ${window.startedAt}`;
      if (window.count > max) return Math.ceil((window.startedAt + WINDOW_MS - now) / 1000);
    }
    return 0;
  }

  /** To be called when the password was wrong: records the attempt that completes a burst. */
  async recordBurst(request: HttpRequest, userId: string): Promise<void> {
    if (this.#burstId === undefined) return;
    await recordEvent(this.#app, request, userId, 'failed_sign_ins', { id: this.#burstId });
  }

  /** To be called when the password was right. */
  async refund(): Promise<void> {
    await Promise.all(this.#budgets.map(({ key }) => this.#app.store.counters.refund(key, WINDOW_MS)));
  }
}

const digest = (text: string): string => hash('sha256', text, 'base64url');

export function tooManyAttempts(waitSeconds: number): string {
  const minutes = Math.ceil(waitSeconds / 60);
  return `Too many attempts. Please try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`;
}
