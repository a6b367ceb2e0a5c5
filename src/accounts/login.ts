import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type Answer, redirect, withHeaders } from '../answer.ts';
import type { App } from '../app.ts';
import { formOf, queryOf } from '../form.ts';
import { page } from '../page-answer.ts';
import { homePage } from '../pages/home.ts';
import { type LoginProps, loginPage } from '../pages/login.ts';
import { messagePage } from '../pages/message.ts';
import { network } from '../protocol/address.ts';
import { given } from '../protocol/parameters.ts';
import { emailKey } from '../store/users.ts';
import { Browser } from './browser.ts';
import { LONGEST_PASSWORD } from './passwords.ts';
import { safeReturnTo } from './return-to.ts';

/** Wrong guesses within the window, per account and per address. The window ends by itself: nobody is locked out for good. */
const GUESS_WINDOW_MS = 15 * 60_000;
const GUESSES_PER_ACCOUNT = 10;
const GUESSES_PER_ADDRESS = 100;

const WRONG = 'The e-mail address or the password is wrong.';

export async function showLogin(app: App, request: FastifyRequest): Promise<Answer> {
  const browser = new Browser(app, request);
  const returnTo = safeReturnTo(given(queryOf(request), 'return_to'));
  if (await browser.user()) return redirect(returnTo);
  return form(browser, { returnTo });
}

export async function signIn(app: App, request: FastifyRequest): Promise<Answer> {
  const browser = new Browser(app, request);
  const fields = formOf(request);
  const returnTo = safeReturnTo(given(fields, 'return_to'));
  if (!browser.sentForm(fields)) return form(browser, { returnTo, error: STALE }, 403);

  const email = (given(fields, 'email') ?? '').slice(0, 254);
  const password = given(fields, 'password') ?? '';
  const guesses = new Guesses(app, email, request.ip);
  const wait = await guesses.count();
  if (wait > 0) return tooMany(browser, { returnTo, email }, wait);

  const user = await app.store.users.findByEmail(email);
  const right =
    password.length <= 4 * LONGEST_PASSWORD && (await app.passwords.verify(password, user?.passwordHash));
  if (!user || !right) return form(browser, { returnTo, email, error: WRONG }, 400);
  await guesses.takeBack();
  if (user.disabledAt !== null) return form(browser, { returnTo, email, error: DISABLED }, 403);
  await browser.signIn(user);
  return withHeaders(redirect(returnTo), browser.headers());
}

const STALE = 'This form was out of date. Please try again.';
const DISABLED = 'This account is disabled. Please ask the people who run this service.';

export async function signOut(app: App, request: FastifyRequest): Promise<Answer> {
  const browser = new Browser(app, request);
  const fields = formOf(request);
  if (!browser.sentForm(fields)) {
    const content = messagePage({
      title: 'You are still signed in',
      paragraphs: [`${STALE} Go back, reload the page and sign out there.`],
    });
    return page(content, { status: 403 });
  }
  await browser.signOut();
  return withHeaders(redirect(safeReturnTo(given(fields, 'return_to'))), browser.headers());
}

export async function home(app: App, request: FastifyRequest): Promise<Answer> {
  const browser = new Browser(app, request);
  const user = await browser.user();
  const content = homePage({ formToken: browser.formToken(), ...(user && { userEmail: user.email }) });
  return page(content, { headers: browser.headers() });
}

function form(browser: Browser, props: Omit<LoginProps, 'formToken'>, status = 200): Answer {
  const content = loginPage({ ...props, formToken: browser.formToken() });
  return page(content, { status, headers: browser.headers() });
}

function tooMany(browser: Browser, props: Omit<LoginProps, 'formToken'>, waitSeconds: number): Answer {
  const minutes = Math.ceil(waitSeconds / 60);
  const error = `Too many attempts. Please try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`;
  return withHeaders(form(browser, { ...props, error }, 429), { 'retry-after': String(waitSeconds) });
}

/** Counted before the password is looked at, so that guesses sent at once are counted too; taken back when right. */
class Guesses {
  readonly #app: App;
  readonly #keys: readonly (readonly [key: string, most: number])[];

  constructor(app: App, email: string, address: string) {
    this.#app = app;
    this.#keys = [
      [`guess account ${hash('sha256', emailKey(email), 'base64url')}`, GUESSES_PER_ACCOUNT],
      [`guess address ${network(address)}`, GUESSES_PER_ADDRESS],
    ];
  }

  /** Seconds to wait, or 0 when this guess may be tried. */
  async count(): Promise<number> {
    const now = this.#app.now();
    const waits = this.#keys.map(async ([key, most]) => {
      const window = await this.#app.store.counters.hit(key, GUESS_WINDOW_MS, now, now);
      return window.count > most ? Math.ceil((window.startedAt + GUESS_WINDOW_MS - now) / 1000) : 0;
    });
    return Math.max(...(await Promise.all(waits)));
  }

  async takeBack(): Promise<void> {
    await Promise.all(this.#keys.map(([key]) => this.#app.store.counters.takeBack(key, GUESS_WINDOW_MS)));
  }
}
