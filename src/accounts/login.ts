import { type Answer, redirect, withHeaders } from '../answer.ts';
import type { App } from '../app.ts';
import { formOf, queryOf } from '../form.ts';
import type { HttpRequest } from '../http-request.ts';
import { page } from '../page-answer.ts';
import { homePage } from '../pages/home.ts';
import { type LoginProps, loginPage } from '../pages/login.ts';
import { messagePage } from '../pages/message.ts';
import { logoutPage } from '../pages/sign-out.ts';
import { LONGEST_EMAIL } from '../protocol/email-address.ts';
import { given } from '../protocol/parameters.ts';
import type { User } from '../store/store.ts';
import { Browser } from './browser.ts';
import { Guesses, tooManyGuesses } from './guesses.ts';
import { LONGEST_PASSWORD } from './passwords.ts';
import { safeReturnTo } from './return-to.ts';
import { recordEvent } from './security-log.ts';

const WRONG =
  'The e-mail address or the password is wrong. If you have just signed up, open the link in your mail first.';
const STALE = 'This form was out of date. Please try again.';
const DISABLED = 'This account is disabled. Please ask the people who run this service.';

export async function showLogin(app: App, request: HttpRequest): Promise<Answer> {
  const browser = new Browser(app, request);
  const query = queryOf(request);
  const returnTo = safeReturnTo(given(query, 'return_to'));
  if (await browser.user()) return redirect(returnTo);
  return form(browser, { returnTo, done: given(query, 'done') });
}

export async function signIn(app: App, request: HttpRequest): Promise<Answer> {
  const browser = new Browser(app, request);
  const fields = formOf(request);
  const returnTo = safeReturnTo(given(fields, 'return_to'));
  if (!browser.sentForm(fields)) return form(browser, { returnTo, error: STALE }, 403);

  const email = (given(fields, 'email') ?? '').slice(0, LONGEST_EMAIL);
  const user = await app.store.users.findByEmail(email);
  const guesses = Guesses.atSignIn(app, email, request.ip, user && browser.knownFor(user.id));
  const wait = await guesses.count();
  if (wait > 0) return tooMany(browser, { returnTo, email }, wait);

  if (!(await passwordIsRight(app, fields, user))) {
    if (user && guesses.burst)
      await recordEvent(app, request, user.id, 'failed_sign_ins', { id: guesses.burst });
    return form(browser, { returnTo, email, error: WRONG }, 400);
  }
  await guesses.takeBack();
  if (user!.disabledAt !== null) return form(browser, { returnTo, email, error: DISABLED }, 403);
  await browser.signIn(user!);
  await recordEvent(app, request, user!.id, 'signed_in');
  return withHeaders(redirect(returnTo), browser.headers());
}

/** Takes the same time whether or not there is such a user. */
async function passwordIsRight(
  app: App,
  fields: ReadonlyMap<string, string>,
  user: User | undefined,
): Promise<boolean> {
  const password = given(fields, 'password') ?? '';
  return password.length <= 4 * LONGEST_PASSWORD && app.passwords.verify(password, user?.passwordHash);
}

/** GET /logout: a link cannot sign anybody out, so there is a button. */
export async function showSignOut(app: App, request: HttpRequest): Promise<Answer> {
  const browser = new Browser(app, request);
  const user = await browser.user();
  if (!user) return redirect('/');
  return page(logoutPage({ email: user.email, formToken: browser.formToken() }), {
    headers: browser.headers(),
  });
}

export async function signOut(app: App, request: HttpRequest): Promise<Answer> {
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

export async function home(app: App, request: HttpRequest): Promise<Answer> {
  const user = await new Browser(app, request).user();
  return user ? redirect('/account') : page(homePage());
}

function form(browser: Browser, props: Omit<LoginProps, 'formToken'>, status = 200): Answer {
  const content = loginPage({ ...props, formToken: browser.formToken() });
  return page(content, { status, headers: browser.headers() });
}

function tooMany(browser: Browser, props: Omit<LoginProps, 'formToken'>, waitSeconds: number): Answer {
  const answer = form(browser, { ...props, error: tooManyGuesses(waitSeconds) }, 429);
  return withHeaders(answer, { 'retry-after': String(waitSeconds) });
}
