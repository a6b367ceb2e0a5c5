import type { App } from '../app.ts';
import { htmlResponse } from '../http/html-response.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import {
  addressTakenMail,
  changeMail,
  changeNotice,
  passwordNotice,
  verifyMail,
} from '../mail/mail-texts.ts';
import type { Mail } from '../mail/mailer.ts';
import { deleteAccountPage } from '../pages/delete-account.ts';
import { passwordFault } from '../passwords/password-rules.ts';
import { isPlayground } from '../protocol/application.ts';
import { emailFault, emailKey } from '../protocol/email-address.ts';
import { param } from '../protocol/parameters.ts';
import type { User } from '../store/users.ts';
import { accountResponse, toAccount } from './account.ts';
import { LoginThrottle, tooManyAttempts } from './login-throttle.ts';
import { countMail } from './mail-limits.ts';
import { checkPassword } from './password-check.ts';
import { requireUser, type UserRequest } from './require-user.ts';
import { recordEvent } from './security-events.ts';
import { newVerifyLink } from './verify-email.ts';

/** A session alone must not be enough to take over or delete the account: the password is asked for again. */
async function currentPasswordFault(app: App, request: UserRequest): Promise<string | undefined> {
  const password = param(request.form, 'current_password');
  if (password === undefined) return 'Type your password.';
  const { http, user, browser } = request;
  const throttle = LoginThrottle.inSession(app, browser.sessionHash);
  const attempt = await throttle.attempt(() => checkPassword(app, http, password, user.passwordHash));
  if (typeof attempt === 'object') return tooManyAttempts(attempt.waitSeconds);
  if (attempt === 'right') return undefined;
  throttle.recordBurst(http, user.id);
  return 'This is not your password.';
}

export const changePassword = requireUser(async (app, request) => {
  const { user, form, http, browser } = request;
  const next = param(form, 'new_password') ?? '';
  const faults = {
    current: await currentPasswordFault(app, request),
    next: next === '' ? 'Choose a password.' : passwordFault(next, [user.email, user.name ?? '']),
  };
  if (faults.current || faults.next)
    return accountResponse(app, request, { faults: { password: faults }, status: 400, done: undefined });
  const passwordHash = await app.passwords.hash(next, http.ip);
  const change = { keepSession: browser.sessionHash, from: user.passwordHash };
  if (!(await app.store.users.setPassword(user.id, passwordHash, app.now(), change)))
    return redirect('/account?done=password_stale');
  await recordEvent(app, http, user.id, 'password_changed');
  app.mailer.post('password_notice', async () => passwordNotice(user.email, app.config.baseUrl));
  browser.rememberDevice({ email: user.email, passwordHash });
  return withHeaders(redirect('/account?done=password'), browser.headers());
}, toAccount);

/** The response is the same whether the new address is free or taken: it must not be an account oracle. */
export const changeEmail = requireUser(async (app, request) => {
  const { user, form, http } = request;
  const email = (param(form, 'email') ?? '').trim();
  const isSame = () => emailKey(email) === emailKey(user.email);
  const faults = {
    email: emailFault(email) ?? (isSame() ? 'That is your address already.' : undefined),
    current: await currentPasswordFault(app, request),
  };
  const refuse = (emailFaults: typeof faults, status: number) =>
    accountResponse(app, request, {
      faults: { email: emailFaults },
      newEmail: email,
      status,
      done: undefined,
    });
  if (faults.email || faults.current) return refuse(faults, 400);
  const limit = await countMail(app, { kind: 'change_email', recipient: email, address: http.ip });
  if (limit.outcome === 'wait') return refuse({ ...faults, email: tooManyAttempts(limit.seconds) }, 429);
  if (limit.outcome === 'send') {
    app.mailer.post('change_email', () => composeEmailChange(app, user, email));
    app.mailer.post('email_change_notice', async () => changeNotice(user.email, app.config.baseUrl));
  }
  return redirect('/account?done=email_sent');
}, toAccount);

async function composeEmailChange(app: App, user: User, email: string): Promise<Mail | undefined> {
  const { baseUrl } = app.config;
  const owner = await app.store.users.findByEmail(email);
  if (owner) return addressTakenMail(owner.email, baseUrl);
  const link = await newVerifyLink(app, user, 'change_email', email);
  return link === undefined ? undefined : changeMail(email, baseUrl, user.email, link);
}

export const sendVerification = requireUser(async (app, { user, http }) => {
  if (user.emailVerified) return redirect('/account');
  const limit = await countMail(app, { kind: 'verify_email', recipient: user.email, address: http.ip });
  if (limit.outcome !== 'send') return redirect('/account?done=too_many');
  app.mailer.post('verify_email', async () => {
    const link = await newVerifyLink(app, user, 'verify_email', user.email);
    return link === undefined ? undefined : verifyMail(user.email, app.config.baseUrl, link);
  });
  return redirect('/account?done=verify_sent');
}, toAccount);

export const showDeleteAccount = requireUser((app, request) => deleteAccountForm(app, request));

export const deleteAccount = requireUser(
  async (app, request) => {
    const { user, browser } = request;
    const fault = await currentPasswordFault(app, request);
    if (fault) return deleteAccountForm(app, request, fault);
    const owned = await app.store.ownedApplications(user.id).list();
    if (owned.some(({ clientId }) => !isPlayground(clientId)))
      return { ...(await deleteAccountForm(app, request)), status: 409 };
    const deleted = await app.store.users.delete(user, app.now());
    // The user first: nobody may visit the playground between the two and create its application again.
    for (const { clientId } of owned) await app.store.applications.delete(clientId);
    if (deleted) app.metrics?.grantRevoked('account_deleted', deleted.grantsRevoked);
    await browser.signOut();
    return withHeaders(redirect('/login?done=deleted'), browser.headers());
  },
  () => '/account/delete',
);

/** Lists the user's own applications first: they must not be left without an owner. */
async function deleteAccountForm(
  app: App,
  { user, frame, browser }: UserRequest,
  fault?: string,
): Promise<HttpResponse> {
  const [connections, owned] = await Promise.all([
    app.store.grants.connections(user.id, app.now(), app.now() - app.config.accessTokenTtlMs),
    app.store.ownedApplications(user.id).list(),
  ]);
  const names = owned.filter(({ clientId }) => !isPlayground(clientId)).map(({ name }) => name);
  const content = deleteAccountPage({ frame, connections: connections.length, owned: names, fault });
  return htmlResponse(content, { status: fault ? 400 : 200, headers: browser.headers() });
}
