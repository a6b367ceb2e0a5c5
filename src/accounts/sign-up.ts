import type { App } from '../app.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import { addressTakenMail, signUpMail } from '../mail/mail-texts.ts';
import type { Mail } from '../mail/mailer.ts';
import { checkMailPage, confirmSignUpPage, type SignUpFaults, signUpPage } from '../pages/sign-up.ts';
import { MAX_PASSWORD_LENGTH, passwordFault } from '../passwords/password-rules.ts';
import { newId } from '../protocol/credentials.ts';
import { emailFault } from '../protocol/email-address.ts';
import { nameFault } from '../protocol/name.ts';
import { param } from '../protocol/parameters.ts';
import type { SignUp } from '../store/sign-ups.ts';
import { countMail } from './mail-limits.ts';
import { hashMailedToken, isMailedToken, newMailedToken } from './mailed-token.ts';
import { deadLink, type PublicRequest, publicPage, tooManyMails } from './public-form.ts';
import { safeReturnTo } from './return-to.ts';
import { recordEvent } from './security-events.ts';

/** docs/decisions/021-sign-up.md: an account begins when its address is proven, and nobody learns which addresses have one. */
const LINK_TTL_MS = 24 * 3600_000;

export const showSignUp = publicPage(async (_app, { browser, query, show }) => {
  if (await browser.user()) return redirect('/account');
  browser.keepReturnTo(safeReturnTo(param(query, 'return_to')));
  return show((csrfToken) => signUpPage({ csrfToken, name: '', email: '', faults: {} }));
});

export const signUp = publicPage(async (app, request) => {
  const { form, show, http, browser } = request;
  const name = (param(form, 'name') ?? '').trim();
  const email = (param(form, 'email') ?? '').trim();
  const password = param(form, 'password') ?? '';
  const faults = faultsOf(name, email, password);
  if (Object.values(faults).some(Boolean))
    return show((csrfToken) => signUpPage({ csrfToken, name, email, faults }), { status: 400 });

  const limit = await countMail(app, email, http.ip);
  if (limit.outcome === 'wait') return tooManyMails(request, limit.seconds);
  // Hashed before anybody looks whether the address is taken, so that both take the same time.
  const passwordHash = await app.passwords.hash(password);
  const asked = { email, name, passwordHash, browserHash: browser.browserIdHash ?? '' };
  if (limit.outcome === 'send') app.mailer.post('sign_up', () => composeSignUp(app, asked));
  return show(() => checkMailPage({ email, about: 'sign_up' }));
});

function faultsOf(name: string, email: string, password: string): SignUpFaults {
  return {
    name: name === '' ? 'Tell us what to call you.' : nameFault(name),
    email: email === '' ? 'Your e-mail address is needed.' : emailFault(email),
    password: password === '' ? 'Choose a password.' : passwordFault(password, [name, email]),
  };
}

async function composeSignUp(app: App, asked: SignUp): Promise<Mail> {
  const { baseUrl } = app.config;
  const owner = await app.store.users.findByEmail(asked.email);
  if (owner) return addressTakenMail(owner.email, baseUrl);
  const token = newMailedToken();
  const expiresAt = app.now() + LINK_TTL_MS;
  await app.store.signUps.create({ ...asked, tokenHash: hashMailedToken(token), expiresAt });
  return signUpMail(asked.email, baseUrl, `${baseUrl}/signup/confirm?token=${token}`);
}

/** Opening the link changes nothing: mail scanners open links too. The button does. */
export const showConfirmSignUp = publicPage(async (app, request) => {
  const token = param(request.query, 'token') ?? '';
  const pending = await findPending(app, token);
  if (!pending) return deadLink(request, { path: '/signup', label: 'Sign up again' });
  return confirmForm(request, token, pending);
});

export const confirmSignUp = publicPage(async (app, request) => {
  const { form, browser, http } = request;
  const token = param(form, 'token') ?? '';
  const pending = await findPending(app, token);
  if (!pending) return deadLink(request, { path: '/signup', label: 'Sign up again' });
  if (!(await isAsker(app, request, pending)))
    return confirmForm(request, token, pending, 'That is not the password you chose when you signed up.');

  const taken = await app.store.signUps.take(hashMailedToken(token), app.now());
  if (!taken) return deadLink(request, { path: '/login', label: 'Sign in' });
  const { email, name, passwordHash } = taken;
  const id = newId();
  const user = { id, email, emailVerified: true, name, passwordHash, now: app.now() };
  if ((await app.store.users.create(user)) === 'email_taken') return redirect('/login?done=taken');
  await browser.signIn({ id });
  await recordEvent(app, http, id, 'signed_up');
  const returnTo = browser.returnTo;
  browser.keepReturnTo('/');
  return withHeaders(redirect(returnTo === '/' ? '/account?done=welcome' : returnTo), browser.headers());
});

async function findPending(app: App, token: string): Promise<SignUp | undefined> {
  return isMailedToken(token) ? app.store.signUps.find(hashMailedToken(token), app.now()) : undefined;
}

const sameBrowser = ({ browser }: PublicRequest, { browserHash }: SignUp): boolean =>
  browserHash !== '' && browser.browserIdHash === browserHash;

/**
 * Whoever opens the link need not be who chose the password: somebody may have signed up with another
 * person's address and hope that they click. So another browser shows the password.
 */
async function isAsker(app: App, request: PublicRequest, pending: SignUp): Promise<boolean> {
  if (sameBrowser(request, pending)) return true;
  const password = param(request.form, 'password') ?? '';
  return password.length <= 4 * MAX_PASSWORD_LENGTH && app.passwords.verify(password, pending.passwordHash);
}

function confirmForm(request: PublicRequest, token: string, pending: SignUp, error?: string): HttpResponse {
  const { email } = pending;
  const askPassword = !sameBrowser(request, pending);
  return request.show((csrfToken) => confirmSignUpPage({ csrfToken, token, email, askPassword, error }), {
    status: error ? 400 : 200,
  });
}
