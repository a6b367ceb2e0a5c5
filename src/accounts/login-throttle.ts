import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { network } from '../protocol/address.ts';
import { emailKey } from '../store/users.ts';

/** Wrong guesses within the window. The window ends by itself: nobody is locked out for good. */
const WINDOW_MS = 15 * 60_000;
const PER_ACCOUNT = 10;
const PER_ADDRESS = 100;
/** So many wrong ones are worth telling the user. */
const BURST = 5;

/** `told`: a burst of wrong guesses at it is told to the user. */
type Budget = { readonly key: string; readonly most: number; readonly told?: boolean };

/**
 * Guesses at one password. Counted before the password is looked at, so that guesses sent at once
 * are counted too; taken back when right.
 */
export class LoginThrottle {
  readonly #app: App;
  readonly #budgets: readonly Budget[];
  #burst: string | undefined;

  private constructor(app: App, budgets: readonly Budget[]) {
    this.#app = app;
    this.#budgets = budgets;
  }

  /**
   * At the sign-in page. Strangers share the account's budget. A browser that signed in to this
   * account before has its own, so that strangers who use up theirs do not shut the user out.
   */
  static atSignIn(app: App, email: string, address: string, knownBrowser: string | undefined): LoginThrottle {
    const whose = knownBrowser ? `browser ${knownBrowser}` : `account ${digest(emailKey(email))}`;
    // The address first: one that is over its limit must not go on to use up the budgets of accounts.
    return new LoginThrottle(app, [
      { key: `guess address ${network(address)}`, most: PER_ADDRESS },
      { key: `guess ${whose}`, most: PER_ACCOUNT, told: true },
    ]);
  }

  /** Where somebody who is signed in shows the password again. */
  static inSession(app: App, sessionHash: string): LoginThrottle {
    return new LoginThrottle(app, [{ key: `guess session ${sessionHash}`, most: PER_ACCOUNT, told: true }]);
  }

  /** Seconds to wait, or 0 when this guess may be tried. */
  async count(): Promise<number> {
    const now = this.#app.now();
    for (const { key, most, told } of this.#budgets) {
      const window = await this.#app.store.counters.hit(key, WINDOW_MS, now, now);
      if (told && window.count === BURST) this.#burst = `${digest(key)} ${window.startedAt}`;
      if (window.count > most) return Math.ceil((window.startedAt + WINDOW_MS - now) / 1000);
    }
    return 0;
  }

  /** Names the burst that this wrong guess completed; undefined for every other guess. */
  get burst(): string | undefined {
    return this.#burst;
  }

  async refund(): Promise<void> {
    await Promise.all(this.#budgets.map(({ key }) => this.#app.store.counters.refund(key, WINDOW_MS)));
  }
}

const digest = (text: string): string => hash('sha256', text, 'base64url');

/** How long to wait, for a person. */
export function tooManyAttempts(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return `Too many attempts. Please try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`;
}
