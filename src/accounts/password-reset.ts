import type { App } from '../app.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import { passwordNotice, resetMail } from '../mail/mail-texts.ts';
import type { Mail } from '../mail/mailer.ts';
import { forgotPasswordPage, resetPasswordPage } from '../pages/password-reset.ts';
import { checkMailPage } from '../pages/sign-up.ts';
import { passwordFault } from '../passwords/password-rules.ts';
import { emailFault } from '../protocol/email-address.ts';
import { param } from '../protocol/parameters.ts';
import type { User } from '../store/users.ts';
import { LoginThrottle, tooManyAttempts } from './login-throttle.ts';
import { countMail } from './mail-limits.ts';
import { hashMailedToken, newMailedToken, readUserToken, type UserToken } from './mailed-token.ts';
import { deadLink, type PublicRequest, publicPage, tooManyMails } from './public-page.ts';
import { recordEvent } from './security-events.ts';

const LINK_TTL_MS = 30 * 60_000;
const AGAIN = { path: '/forgot-password', label: 'Ask for a new link' };

export const showForgotPassword = publicPage((_app, { show }) =>
  show((csrfToken) => forgotPasswordPage({ csrfToken, email: '' })),
);

/** The response is the same for every address: it must not be an account oracle. */
export const forgotPassword = publicPage(async (app, request) => {
  const { form, show, http, browser } = request;
  const email = (param(form, 'email') ?? '').trim();
  const fault = email === '' ? 'Your e-mail address is needed.' : emailFault(email);
  if (fault) return show((csrfToken) => forgotPasswordPage({ csrfToken, email, fault }), { status: 400 });
  const limit = await countMail(app, {
    kind: 'reset_password',
    recipient: email,
    address: http.ip,
    deviceId: browser.deviceFor(email)?.id,
  });
  if (limit.outcome === 'wait') return tooManyMails(request, limit.seconds);
  if (limit.outcome === 'send') app.mailer.post('reset_password', () => composeReset(app, email));
  return show(() => checkMailPage({ email, about: 'reset' }));
});

async function composeReset(app: App, email: string): Promise<Mail | undefined> {
  const user = await app.store.users.findByEmail(email);
  if (user?.disabledAt !== null) return undefined;
  const token = newMailedToken();
  const expiresAt = app.now() + LINK_TTL_MS;
  const created = await app.store.mailLinks.create({
    userId: user.id,
    tokenHash: hashMailedToken(token),
    purpose: 'reset_password',
    email: user.email,
    expiresAt,
    passwordHash: user.passwordHash,
  });
  if (!created) return undefined;
  const { baseUrl } = app.config;
  return resetMail(user.email, baseUrl, `${baseUrl}/reset-password?token=${user.id}.${token}`);
}

export const showResetPassword = publicPage(async (app, request) => {
  const text = param(request.http.query, 'token') ?? '';
  const user = await userOfLink(app, readUserToken(text));
  return user ? resetForm(request, text, user) : deadLink(request, AGAIN);
});

export const resetPassword = publicPage(async (app, request) => {
  const { form, browser, http } = request;
  const text = param(form, 'token') ?? '';
  const link = readUserToken(text);
  const user = await userOfLink(app, link);
  if (!link || !user) return deadLink(request, AGAIN);
  const password = param(form, 'password') ?? '';
  const fault = passwordFault(password, [user.email, user.name ?? '']);
  if (fault) return resetForm(request, text, user, fault);

  let [email, passwordHash]: [string | undefined, string] = [undefined, ''];
  const attempt = await LoginThrottle.withLink(app, link.tokenHash, http.ip).attempt(async () => {
    passwordHash = await app.passwords.hash(password, http.ip);
    email = await app.store.mailLinks.take(link.userId, link.tokenHash, 'reset_password', app.now());
    return email === undefined ? 'wrong' : 'right';
  });
  if (typeof attempt === 'object') {
    const response = resetForm(request, text, user, tooManyAttempts(attempt.waitSeconds), 429);
    return withHeaders(response, { 'retry-after': String(attempt.waitSeconds) });
  }
  if (email === undefined) return deadLink(request, AGAIN);
  await app.store.users.setPassword(user.id, passwordHash, app.now());
  // Opening the link proves control of this very address.
  await app.store.users.verifyEmail(user.id, app.now(), email);
  await recordEvent(app, http, user.id, 'password_reset');
  app.mailer.post('password_notice', async () => passwordNotice(user.email, app.config.baseUrl));
  // An account budget that strangers have used up must not stop this browser from signing in now.
  browser.rememberDevice({ email: user.email, passwordHash });
  return withHeaders(redirect('/login?done=reset'), browser.headers());
});

async function userOfLink(app: App, link: UserToken | undefined): Promise<User | undefined> {
  if (!link) return undefined;
  const { userId, tokenHash } = link;
  const isLive = await app.store.mailLinks.find(userId, tokenHash, 'reset_password', app.now());
  const user = isLive && (await app.store.users.find(userId));
  return user?.disabledAt === null ? user : undefined;
}

function resetForm(
  { show }: PublicRequest,
  token: string,
  { email }: User,
  fault?: string,
  status = fault ? 400 : 200,
): HttpResponse {
  return show((csrfToken) => resetPasswordPage({ csrfToken, token, email, fault }), { status });
}
