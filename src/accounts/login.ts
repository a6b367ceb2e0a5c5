import type { App } from '../app.ts';
import { formOf } from '../http/form.ts';
import { htmlResponse } from '../http/html-response.ts';
import type { HttpRequest } from '../http/request.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import { homePage } from '../pages/home.ts';
import { type LoginProps, loginPage } from '../pages/login.ts';
import { messagePage } from '../pages/message.ts';
import { logoutPage } from '../pages/sign-out.ts';
import { MAX_EMAIL_LENGTH } from '../protocol/email-address.ts';
import { param } from '../protocol/parameters.ts';
import type { User } from '../store/users.ts';
import { Browser } from './browser.ts';
import { LoginThrottle, tooManyAttempts } from './login-throttle.ts';
import { checkPassword } from './password-check.ts';
import { safeReturnTo } from './return-to.ts';
import { recordEvent } from './security-events.ts';

const WRONG =
  'The e-mail address or the password is wrong. If you have just signed up, open the link in your mail first.';
const STALE = 'This form was out of date. Please try again.';
const DISABLED = 'This account is disabled. Please ask the people who run this service.';

export async function showLogin(app: App, request: HttpRequest): Promise<HttpResponse> {
  const browser = new Browser(app, request);
  const query = request.query;
  const returnTo = safeReturnTo(param(query, 'return_to'));
  if (await browser.user()) return redirect(returnTo);
  return loginForm(browser, { returnTo, done: param(query, 'done') });
}

export async function signIn(app: App, request: HttpRequest): Promise<HttpResponse> {
  const browser = new Browser(app, request);
  const fields = formOf(request);
  const returnTo = safeReturnTo(param(fields, 'return_to'));
  if (!browser.hasValidCsrfToken(fields)) return loginForm(browser, { returnTo, error: STALE }, 403);

  const email = (param(fields, 'email') ?? '').slice(0, MAX_EMAIL_LENGTH);
  const { attempt, user, throttle } = await checkSignIn(app, request, browser, email);
  if (typeof attempt === 'object')
    return tooManyAttemptsForm(browser, { returnTo, email }, attempt.waitSeconds);
  if (!user || attempt === 'wrong') {
    if (user) throttle.recordBurst(request, user.id);
    return loginForm(browser, { returnTo, email, error: WRONG }, 400);
  }
  if (user.disabledAt !== null) return loginForm(browser, { returnTo, email, error: DISABLED }, 403);
  if (!(await browser.signIn(user))) return loginForm(browser, { returnTo, email, error: WRONG }, 400);
  await recordEvent(app, request, user.id, 'signed_in');
  return withHeaders(redirect(returnTo), browser.headers());
}

/** Counts the attempt before anything is looked up: a refusal takes the same time whether or not there is an account. */
async function checkSignIn(app: App, request: HttpRequest, browser: Browser, email: string) {
  const password = param(formOf(request), 'password') ?? '';
  const device = browser.deviceFor(email);
  const throttle = LoginThrottle.atSignIn(app, email, request.ip, device?.id);
  let user: User | undefined;
  const attempt = await throttle.attempt(async () => {
    user = await app.store.users.findByEmail(email);
    const isStranger = device && !browser.isCurrentDevice(device, user);
    const wait = isStranger ? await throttle.countAsStranger(email) : undefined;
    return wait ?? checkPassword(app, request, password, user?.passwordHash);
  });
  return { attempt, user: user as User | undefined, throttle };
}

/** GET /logout changes nothing, because a link on any site can lead here: the button does. */
export async function showSignOut(app: App, request: HttpRequest): Promise<HttpResponse> {
  const browser = new Browser(app, request);
  const user = await browser.user();
  if (!user) return redirect('/');
  return htmlResponse(logoutPage({ email: user.email, csrfToken: browser.csrfToken() }), {
    headers: browser.headers(),
  });
}

export async function signOut(app: App, request: HttpRequest): Promise<HttpResponse> {
  const browser = new Browser(app, request);
  const fields = formOf(request);
  if (!browser.hasValidCsrfToken(fields)) {
    const content = messagePage({
      title: 'You are still signed in',
      paragraphs: [`${STALE} Go back, reload the page and sign out there.`],
    });
    return htmlResponse(content, { status: 403 });
  }
  await browser.signOut();
  return withHeaders(redirect(safeReturnTo(param(fields, 'return_to'))), browser.headers());
}

export async function home(app: App, request: HttpRequest): Promise<HttpResponse> {
  const user = await new Browser(app, request).user();
  return user ? redirect('/account') : htmlResponse(homePage());
}

function loginForm(browser: Browser, props: Omit<LoginProps, 'csrfToken'>, status = 200): HttpResponse {
  const content = loginPage({ ...props, csrfToken: browser.csrfToken() });
  return htmlResponse(content, { status, headers: browser.headers() });
}

function tooManyAttemptsForm(
  browser: Browser,
  props: Omit<LoginProps, 'csrfToken'>,
  waitSeconds: number,
): HttpResponse {
  const response = loginForm(browser, { ...props, error: tooManyAttempts(waitSeconds) }, 429);
  return withHeaders(response, { 'retry-after': String(waitSeconds) });
}
