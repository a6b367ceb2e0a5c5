import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import { verifyEmailPage } from '../pages/verify-email.ts';
import { param } from '../protocol/parameters.ts';
import type { LinkPurpose } from '../store/mail-links.ts';
import type { User } from '../store/users.ts';
import { type Attempt, LoginThrottle, tooManyAttempts } from './login-throttle.ts';
import { hashMailedToken, newMailedToken, readUserToken } from './mailed-token.ts';
import { checkPassword } from './password-check.ts';
import { deadLink, type PublicRequest, publicPage } from './public-page.ts';
import { recordEvent } from './security-events.ts';
import { mailUndoLink } from './undo-email-change.ts';

const LINK_TTL_MS = 24 * 3600_000;
const NEXT = { path: '/account', label: 'Go to your account' };

type VerifyPurpose = Extract<LinkPurpose, 'verify_email' | 'change_email'>;
const PURPOSES: readonly VerifyPurpose[] = ['verify_email', 'change_email'];

/** A link that verifies `email`: the user's address, or the one that is to replace it. */
export async function newVerifyLink(
  app: App,
  user: User,
  purpose: VerifyPurpose,
  email: string,
): Promise<string | undefined> {
  const token = newMailedToken();
  const created = await app.store.mailLinks.create({
    userId: user.id,
    tokenHash: hashMailedToken(token),
    purpose,
    email,
    expiresAt: app.now() + LINK_TTL_MS,
    passwordHash: user.passwordHash,
  });
  return created ? `${app.config.baseUrl}/verify-email?token=${user.id}.${token}` : undefined;
}

type VerifyLink = {
  readonly token: string;
  readonly tokenHash: string;
  readonly purpose: VerifyPurpose;
  readonly email: string;
  readonly user: User;
};

async function findLink(app: App, token: string): Promise<VerifyLink | undefined> {
  const parts = readUserToken(token);
  if (!parts) return undefined;
  const { userId, tokenHash } = parts;
  for (const purpose of PURPOSES) {
    const link = await app.store.mailLinks.find(userId, tokenHash, purpose, app.now());
    const user = link && (await app.store.users.find(userId));
    if (user?.disabledAt === null) return { token, tokenHash, purpose, email: link!.email, user };
  }
  return undefined;
}

/** Mail scanners open links, so GET changes nothing: the button does. */
export const showVerifyEmail = publicPage(async (app, request) => {
  const link = await findLink(app, param(request.http.query, 'token') ?? '');
  return link ? verifyForm(request, link) : deadLink(request, NEXT);
});

export const verifyEmail = publicPage(async (app, request) => {
  const link = await findLink(app, param(request.form, 'token') ?? '');
  if (!link) return deadLink(request, NEXT);
  const attempt = await checkOwner(app, request, link);
  if (typeof attempt === 'object') {
    const form = await verifyForm(request, link, tooManyAttempts(attempt.waitSeconds), 429);
    return withHeaders(form, { 'retry-after': String(attempt.waitSeconds) });
  }
  if (attempt === 'wrong') return verifyForm(request, link, 'That is not the password of this account.', 400);

  const { user, tokenHash, purpose } = link;
  const email = await app.store.mailLinks.take(user.id, tokenHash, purpose, app.now());
  if (email === undefined) return deadLink(request, NEXT);
  return purpose === 'verify_email'
    ? verifyCurrentEmail(app, request.http, user, email)
    : replaceEmail(app, request, user, email);
});

const isOwnSession = async ({ browser }: PublicRequest, { user }: VerifyLink): Promise<boolean> =>
  (await browser.user())?.id === user.id;

/**
 * The link proves that its recipient reads the address, not that the account is theirs: an attacker could request it
 * for another person's address and wait for them to open it. So it needs a session of the account, or its password.
 */
async function checkOwner(app: App, request: PublicRequest, link: VerifyLink): Promise<Attempt> {
  if (await isOwnSession(request, link)) return 'right';
  const { http, form } = request;
  const password = param(form, 'password') ?? '';
  return LoginThrottle.withLink(app, link.tokenHash, http.ip).attempt(() =>
    checkPassword(app, http, password, link.user.passwordHash),
  );
}

async function verifyForm(
  request: PublicRequest,
  link: VerifyLink,
  error?: string,
  status = 200,
): Promise<HttpResponse> {
  const { token, email, purpose, user } = link;
  const askPassword = !(await isOwnSession(request, link));
  const props = { token, email, purpose, account: user.email, askPassword, error };
  return request.show((csrfToken) => verifyEmailPage({ ...props, csrfToken }), { status });
}

/** Has no effect when the user's address has changed since the link was sent. */
async function verifyCurrentEmail(app: App, http: HttpRequest, { id }: User, email: string) {
  if (!(await app.store.users.verifyEmail(id, app.now(), email))) return redirect('/account?done=stale');
  await recordEvent(app, http, id, 'email_verified');
  return redirect('/account?done=verified');
}

/** The address changes only now that it is verified (docs/decisions/022-email-change.md). */
async function replaceEmail(app: App, { http, browser }: PublicRequest, user: User, email: string) {
  const outcome = await app.store.users.changeEmail(user.id, user.email, email, app.now());
  if (outcome !== 'changed') return redirect('/account?done=stale');
  await recordEvent(app, http, user.id, 'email_changed');
  mailUndoLink(app, user);
  browser.rememberDevice({ email, passwordHash: user.passwordHash });
  return withHeaders(redirect('/account?done=email'), browser.headers());
}
