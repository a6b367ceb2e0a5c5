import { type Answer, redirect, withHeaders } from '../answer.ts';
import type { App } from '../app.ts';
import { page } from '../page-answer.ts';
import { deleteAccountPage } from '../pages/delete-account.ts';
import { isPlayground } from '../protocol/application.ts';
import { emailFault } from '../protocol/email-address.ts';
import { given } from '../protocol/parameters.ts';
import type { User } from '../store/store.ts';
import { emailKey } from '../store/users.ts';
import { account, toAccount } from './account.ts';
import { Guesses, tooManyGuesses } from './guesses.ts';
import type { Mail } from './mail.ts';
import { countMail } from './mail-limits.ts';
import { addressTakenMail, changeMail, changeNotice, passwordNotice, verifyMail } from './mail-texts.ts';
import { LONGEST_PASSWORD, passwordFault } from './passwords.ts';
import { recordEvent } from './security-log.ts';
import { type SignedInRequest, signedIn } from './signed-in.ts';
import { newVerifyLink } from './verify-email.ts';

/** An open session is not enough for what decides over the account: what is wrong with the password shown, or undefined. */
async function currentPasswordFault(app: App, request: SignedInRequest): Promise<string | undefined> {
  const password = given(request.form, 'current_password');
  if (password === undefined) return 'Type your password.';
  const guesses = Guesses.inSession(app, request.browser.sessionHash);
  const wait = await guesses.count();
  if (wait > 0) return tooManyGuesses(wait);
  const right =
    password.length <= 4 * LONGEST_PASSWORD &&
    (await app.passwords.verify(password, request.user.passwordHash));
  if (!right) return 'This is not your password.';
  await guesses.takeBack();
  return undefined;
}

export const changePassword = signedIn(async (app, request) => {
  const { user, form, http, browser } = request;
  const next = given(form, 'new_password') ?? '';
  const faults = {
    current: await currentPasswordFault(app, request),
    next: next === '' ? 'Choose a password.' : passwordFault(next, [user.email, user.name ?? '']),
  };
  if (faults.current || faults.next)
    return account(app, request, { faults: { password: faults }, status: 400, done: undefined });
  const passwordHash = await app.passwords.hash(next);
  await app.store.users.setPassword(user.id, passwordHash, app.now(), browser.sessionHash);
  await recordEvent(app, http, user.id, 'password_changed');
  app.mailer.post('password_notice', async () => passwordNotice(user.email, app.config.baseUrl));
  return redirect('/account?done=password');
}, toAccount);

/** Says the same whether the new address is free or somebody's: it must not tell who has an account. */
export const changeEmail = signedIn(async (app, request) => {
  const { user, form, http } = request;
  const email = (given(form, 'email') ?? '').trim();
  const same = emailKey(email) === emailKey(user.email);
  const faults = {
    email: same ? 'That is your address already.' : emailFault(email),
    current: await currentPasswordFault(app, request),
  };
  const refused = (emailFaults: typeof faults, status: number) =>
    account(app, request, { faults: { email: emailFaults }, newEmail: email, status, done: undefined });
  if (faults.email || faults.current) return refused(faults, 400);
  const limit = await countMail(app, email, http.ip);
  if (limit.outcome === 'wait') return refused({ ...faults, email: tooManyGuesses(limit.seconds) }, 429);
  if (limit.outcome === 'send') {
    app.mailer.post('change_email', () => composeChange(app, user, email));
    app.mailer.post('email_change_notice', async () => changeNotice(user.email, app.config.baseUrl));
  }
  return redirect('/account?done=email_sent');
}, toAccount);

async function composeChange(app: App, user: User, email: string): Promise<Mail> {
  const { baseUrl } = app.config;
  const owner = await app.store.users.findByEmail(email);
  if (owner) return addressTakenMail(owner.email, baseUrl);
  return changeMail(email, baseUrl, await newVerifyLink(app, user, 'change_email', email));
}

export const sendVerification = signedIn(async (app, { user, http }) => {
  if (user.emailVerified) return redirect('/account');
  const limit = await countMail(app, user.email, http.ip);
  if (limit.outcome !== 'send') return redirect('/account?done=too_many');
  app.mailer.post('verify_email', async () =>
    verifyMail(user.email, app.config.baseUrl, await newVerifyLink(app, user, 'verify_email', user.email)),
  );
  return redirect('/account?done=verify_sent');
}, toAccount);

export const showDeleteAccount = signedIn((app, request) => deletion(app, request));

export const deleteAccount = signedIn(
  async (app, request) => {
    const { user, browser } = request;
    const fault = await currentPasswordFault(app, request);
    if (fault) return deletion(app, request, fault);
    const owned = await app.store.applications.ownedBy(user.id).list();
    if (owned.some(({ clientId }) => !isPlayground(clientId)))
      return { ...(await deletion(app, request)), status: 409 };
    for (const { clientId } of owned) await app.store.applications.delete(clientId);
    const deleted = await app.store.users.delete(user, app.now());
    if (deleted) app.metrics?.grantCut('account_deleted', deleted.grantsEnded);
    await browser.signOut();
    return withHeaders(redirect('/login?done=deleted'), browser.headers());
  },
  () => '/account/delete',
);

/** Applications that others depend on must not be left without anybody who can look after them. */
async function deletion(
  app: App,
  { user, frame, browser }: SignedInRequest,
  fault?: string,
): Promise<Answer> {
  const [connections, owned] = await Promise.all([
    app.store.grants.connections(user.id, app.now(), app.now() - app.config.accessTokenTtl),
    app.store.applications.ownedBy(user.id).list(),
  ]);
  const names = owned.filter(({ clientId }) => !isPlayground(clientId)).map(({ name }) => name);
  const content = deleteAccountPage({ frame, connections: connections.length, owned: names, fault });
  return page(content, { status: fault ? 400 : 200, headers: browser.headers() });
}
