import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { redirect } from '../http/response.ts';
import { verifyEmailPage } from '../pages/verify-email.ts';
import { param } from '../protocol/parameters.ts';
import type { LinkPurpose } from '../store/mail-links.ts';
import type { User } from '../store/users.ts';
import { hashMailedToken, newMailedToken, readUserToken } from './mailed-token.ts';
import { deadLink, publicPage } from './public-page.ts';
import { recordEvent } from './security-events.ts';

const LINK_TTL_MS = 24 * 3600_000;
const NEXT = { path: '/account', label: 'Go to your account' };

type VerifyPurpose = Exclude<LinkPurpose, 'reset_password'>;
const PURPOSES: readonly VerifyPurpose[] = ['verify_email', 'change_email'];

/** A link that verifies `email`: the user's address, or the one that is to replace it. */
export async function newVerifyLink(
  app: App,
  user: User,
  purpose: VerifyPurpose,
  email: string,
): Promise<string> {
  const token = newMailedToken();
  await app.store.mailLinks.create(user.id, hashMailedToken(token), purpose, email, app.now() + LINK_TTL_MS);
  return `${app.config.baseUrl}/verify-email?token=${user.id}.${token}`;
}

/** Mail scanners open links, so GET changes nothing: the button does. */
export const showVerifyEmail = publicPage(async (app, request) => {
  const text = param(request.http.query, 'token') ?? '';
  const link = readUserToken(text);
  if (!link) return deadLink(request, NEXT);
  for (const purpose of PURPOSES) {
    const email = await app.store.mailLinks.find(link.userId, link.tokenHash, purpose, app.now());
    if (email)
      return request.show((csrfToken) => verifyEmailPage({ csrfToken, token: text, email, purpose }));
  }
  return deadLink(request, NEXT);
});

export const verifyEmail = publicPage(async (app, request) => {
  const link = readUserToken(param(request.form, 'token'));
  if (!link) return deadLink(request, NEXT);
  const take = (purpose: VerifyPurpose) =>
    app.store.mailLinks.take(link.userId, link.tokenHash, purpose, app.now());
  const email = await take('verify_email');
  if (email) return verifyCurrentEmail(app, request.http, link.userId, email);
  const newEmail = await take('change_email');
  return newEmail ? replaceEmail(app, request.http, link.userId, newEmail) : deadLink(request, NEXT);
});

/** Has no effect when the user's address has changed since the link was sent. */
async function verifyCurrentEmail(app: App, http: HttpRequest, userId: string, email: string) {
  if (!(await app.store.users.verifyEmail(userId, app.now(), email))) return redirect('/account?done=stale');
  await recordEvent(app, http, userId, 'email_verified');
  return redirect('/account?done=verified');
}

/** The address changes only now that it is verified (docs/decisions/022-email-change.md). */
async function replaceEmail(app: App, http: HttpRequest, userId: string, email: string) {
  const user = await app.store.users.find(userId);
  const outcome = user ? await app.store.users.changeEmail(userId, user.email, email, app.now()) : 'stale';
  if (outcome !== 'changed') return redirect('/account?done=stale');
  await recordEvent(app, http, userId, 'email_changed');
  return redirect('/account?done=email');
}
