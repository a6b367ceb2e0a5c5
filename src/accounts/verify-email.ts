import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { redirect } from '../http/response.ts';
import { verifyEmailPage } from '../pages/verify-email.ts';
import { param } from '../protocol/parameters.ts';
import type { LinkPurpose } from '../store/mail-links.ts';
import type { User } from '../store/users.ts';
import { hashMailedToken, newMailedToken, readUserToken } from './mailed-token.ts';
import { deadLink, publicPage } from './public-form.ts';
import { recordEvent } from './security-events.ts';

const LINK_TTL_MS = 24 * 3600_000;
const NEXT = { path: '/account', label: 'Go to your account' };

type VerifyPurpose = Exclude<LinkPurpose, 'reset_password'>;
const PURPOSES: readonly VerifyPurpose[] = ['verify_email', 'change_email'];

/** A link that proves an address: the user's own, or the one that is to take its place. */
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

/** Opening the link changes nothing: mail scanners open links too. The button does. */
export const showVerifyEmail = publicPage(async (app, request) => {
  const text = param(request.query, 'token') ?? '';
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
  const own = await take('verify_email');
  if (own) return verified(app, request.http, link.userId, own);
  const next = await take('change_email');
  return next ? changed(app, request.http, link.userId, next) : deadLink(request, NEXT);
});

/** Says so only while the address is still the user's. */
async function verified(app: App, http: HttpRequest, userId: string, email: string) {
  if (!(await app.store.users.verifyEmail(userId, app.now(), email))) return redirect('/account?done=stale');
  await recordEvent(app, http, userId, 'email_verified');
  return redirect('/account?done=verified');
}

/** The address changes now, when it is proven, and not before (docs/decisions/022-email-change.md). */
async function changed(app: App, http: HttpRequest, userId: string, email: string) {
  const user = await app.store.users.find(userId);
  const outcome = user ? await app.store.users.changeEmail(userId, user.email, email, app.now()) : 'stale';
  if (outcome !== 'changed') return redirect('/account?done=stale');
  await recordEvent(app, http, userId, 'email_changed');
  return redirect('/account?done=email');
}
