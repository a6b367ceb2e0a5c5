import type { App } from '../app.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import { addressTakenMail, signUpMail } from '../mail/mail-texts.ts';
import type { Mail } from '../mail/mailer.ts';
import { checkMailPage, confirmSignUpPage, type SignUpFaults, signUpPage } from '../pages/sign-up.ts';
import { passwordFault } from '../passwords/password-rules.ts';
import { newId } from '../protocol/credentials.ts';
import { emailFault } from '../protocol/email-address.ts';
import { nameFault } from '../protocol/name.ts';
import { param } from '../protocol/parameters.ts';
import type { SignUp } from '../store/sign-ups.ts';
import { type Attempt, LoginThrottle, tooManyAttempts } from './login-throttle.ts';
import { countMail } from './mail-limits.ts';
import { hashMailedToken, isMailedToken, newMailedToken } from './mailed-token.ts';
import { checkPassword } from './password-check.ts';
import { deadLink, type PublicRequest, publicPage, tooManyMails } from './public-page.ts';
import { safeReturnTo } from './return-to.ts';
import { recordEvent } from './security-events.ts';

/**
 * An account is created when its address is verified, and no response discloses which addresses have one
 * (docs/decisions/021-sign-up.md).
 */
const LINK_TTL_MS = 24 * 3600_000;

export const showSignUp = publicPage(async (_app, { http, browser, show }) => {
  if (await browser.user()) return redirect('/account');
  browser.keepReturnTo(safeReturnTo(param(http.query, 'return_to')));
  return show((csrfToken) => signUpPage({ csrfToken, name: '', email: '', faults: {} }));
});

export const signUp = publicPage(async (app, request) => {
  const { form, show, http, browser } = request;
  const name = (param(form, 'name') ?? '').trim();
  const email = (param(form, 'email') ?? '').trim();
  const password = param(form, 'password') ?? '';
  const faults = signUpFaults(name, email, password);
  if (Object.values(faults).some(Boolean))
    return show((csrfToken) => signUpPage({ csrfToken, name, email, faults }), { status: 400 });

  const limit = await countMail(app, { kind: 'sign_up', recipient: email, address: http.ip });
  if (limit.outcome === 'wait') return tooManyMails(request, limit.seconds);
  // Hashed before the address is looked up, so that a taken and a free one take the same time.
  const passwordHash = await app.passwords.hash(password, http.ip);
  const pending = { email, name, passwordHash, browserHash: browser.browserIdHash ?? '' };
  if (limit.outcome === 'send') app.mailer.post('sign_up', () => composeSignUp(app, pending));
  return show(() => checkMailPage({ email, about: 'sign_up' }));
});

function signUpFaults(name: string, email: string, password: string): SignUpFaults {
  return {
    name: name === '' ? 'Tell us what to call you.' : nameFault(name),
    email: email === '' ? 'Your e-mail address is needed.' : emailFault(email),
    password: password === '' ? 'Choose a password.' : passwordFault(password, [name, email]),
  };
}

async function composeSignUp(app: App, pending: SignUp): Promise<Mail> {
  const { baseUrl } = app.config;
  const owner = await app.store.users.findByEmail(pending.email);
  if (owner) return addressTakenMail(owner.email, baseUrl);
  const token = newMailedToken();
  const expiresAt = app.now() + LINK_TTL_MS;
  await app.store.signUps.create({ ...pending, tokenHash: hashMailedToken(token), expiresAt });
  return signUpMail(pending.email, baseUrl, `${baseUrl}/signup/confirm?token=${token}`);
}

/** Mail scanners open links, so GET changes nothing: the button does. */
export const showConfirmSignUp = publicPage(async (app, request) => {
  const token = param(request.http.query, 'token') ?? '';
  const pending = await findPending(app, token);
  if (!pending) return deadLink(request, { path: '/signup', label: 'Sign up again' });
  return confirmForm(request, token, pending);
});

export const confirmSignUp = publicPage(async (app, request) => {
  const { form, browser, http } = request;
  const token = param(form, 'token') ?? '';
  const pending = await findPending(app, token);
  if (!pending) return deadLink(request, { path: '/signup', label: 'Sign up again' });
  const attempt = await checkRequester(app, request, token, pending);
  if (typeof attempt === 'object') return tooManyAttemptsForm(request, token, pending, attempt.waitSeconds);
  if (attempt === 'wrong')
    return confirmForm(request, token, pending, 'That is not the password you chose when you signed up.');

  const taken = await app.store.signUps.take(hashMailedToken(token), app.now());
  if (!taken) return deadLink(request, { path: '/login', label: 'Sign in' });
  const { email, name, passwordHash } = taken;
  const id = newId();
  const user = { id, email, emailVerified: true, name, passwordHash, now: app.now() };
  if ((await app.store.users.create(user)) === 'email_taken') return redirect('/login?done=taken');
  await browser.signIn({ id, email, passwordHash });
  await recordEvent(app, http, id, 'signed_up');
  const returnTo = browser.returnTo;
  browser.keepReturnTo('/');
  return withHeaders(redirect(returnTo === '/' ? '/account?done=welcome' : returnTo), browser.headers());
});

async function findPending(app: App, token: string): Promise<SignUp | undefined> {
  return isMailedToken(token) ? app.store.signUps.find(hashMailedToken(token), app.now()) : undefined;
}

const isSameBrowser = ({ browser }: PublicRequest, { browserHash }: SignUp): boolean =>
  browserHash !== '' && browser.browserIdHash === browserHash;

/**
 * Somebody may have signed up with another person's address, hoping that they confirm it and so open an
 * account whose password the attacker knows. So a browser other than the one that signed up must give the password.
 */
async function checkRequester(
  app: App,
  request: PublicRequest,
  token: string,
  pending: SignUp,
): Promise<Attempt> {
  if (isSameBrowser(request, pending)) return 'right';
  const { http, form } = request;
  const password = param(form, 'password') ?? '';
  return LoginThrottle.withLink(app, hashMailedToken(token), http.ip).attempt(() =>
    checkPassword(app, http, password, pending.passwordHash),
  );
}

function confirmForm(
  request: PublicRequest,
  token: string,
  pending: SignUp,
  error?: string,
  status = error ? 400 : 200,
): HttpResponse {
  const { email } = pending;
  const askPassword = !isSameBrowser(request, pending);
  return request.show((csrfToken) => confirmSignUpPage({ csrfToken, token, email, askPassword, error }), {
    status,
  });
}

function tooManyAttemptsForm(
  request: PublicRequest,
  token: string,
  pending: SignUp,
  waitSeconds: number,
): HttpResponse {
  const form = confirmForm(request, token, pending, tooManyAttempts(waitSeconds), 429);
  return withHeaders(form, { 'retry-after': String(waitSeconds) });
}
