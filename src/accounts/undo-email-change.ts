import type { App } from '../app.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import { emailChangedMail, passwordNotice } from '../mail/mail-texts.ts';
import { undoEmailChangePage } from '../pages/undo-email-change.ts';
import { passwordFault } from '../passwords/password-rules.ts';
import { param } from '../protocol/parameters.ts';
import type { MailLink } from '../store/mail-links.ts';
import type { User } from '../store/users.ts';
import { LoginThrottle, tooManyAttempts } from './login-throttle.ts';
import { hashMailedToken, newMailedToken, readUserToken } from './mailed-token.ts';
import { deadLink, type PublicRequest, publicPage } from './public-page.ts';
import { recordEvent } from './security-events.ts';

/** Long enough to read the mail after a weekend; whoever else reads the old address has as long to take the account. */
const LINK_TTL_MS = 3 * 24 * 3600_000;
const NEXT = { path: '/login', label: 'Sign in' };

/**
 * Tells the old address of a user, after it was replaced, how to undo that. An address that was never verified may
 * belong to somebody else: it gets no link.
 */
export function mailUndoLink(app: App, before: User): void {
  if (!before.emailVerified) return;
  const token = newMailedToken();
  app.mailer.post('email_changed', async () => {
    await app.store.mailLinks.create({
      userId: before.id,
      tokenHash: hashMailedToken(token),
      purpose: 'undo_email_change',
      email: before.email,
      expiresAt: app.now() + LINK_TTL_MS,
    });
    const { baseUrl } = app.config;
    return emailChangedMail(
      before.email,
      baseUrl,
      `${baseUrl}/undo-email-change?token=${before.id}.${token}`,
    );
  });
}

type UndoLink = {
  readonly token: string;
  readonly tokenHash: string;
  readonly link: MailLink;
  readonly user: User;
};

async function findLink(app: App, token: string): Promise<UndoLink | undefined> {
  const parts = readUserToken(token);
  if (!parts) return undefined;
  const { userId, tokenHash } = parts;
  const link = await app.store.mailLinks.find(userId, tokenHash, 'undo_email_change', app.now());
  const user = link && (await app.store.users.find(userId));
  return user?.disabledAt === null ? { token, tokenHash, link: link!, user } : undefined;
}

/** Mail scanners open links, so GET changes nothing: the button does. */
export const showUndoEmailChange = publicPage(async (app, request) => {
  const found = await findLink(app, param(request.http.query, 'token') ?? '');
  return found ? undoForm(request, found) : deadLink(request, NEXT);
});

/** Sets a new password too: a thief who changed the address knows the old one. */
export const undoEmailChange = publicPage(async (app, request) => {
  const { form, browser, http } = request;
  const found = await findLink(app, param(form, 'token') ?? '');
  if (!found) return deadLink(request, NEXT);
  const { user, link, tokenHash } = found;
  const password = param(form, 'password') ?? '';
  const fault = passwordFault(password, [link.email, user.name ?? '']);
  if (fault) return undoForm(request, found, fault);

  let outcome: 'changed' | 'taken' | 'stale' = 'stale';
  const attempt = await LoginThrottle.withLink(app, tokenHash, http.ip).attempt(async () => {
    const passwordHash = await app.passwords.hash(password, http.ip);
    outcome = await app.store.users.undoEmailChange(user, link, passwordHash, app.now());
    if (outcome === 'changed') browser.rememberDevice({ email: link.email, passwordHash });
    return outcome === 'changed' ? 'right' : 'wrong';
  });
  if (typeof attempt === 'object') {
    const response = undoForm(request, found, tooManyAttempts(attempt.waitSeconds), 429);
    return withHeaders(response, { 'retry-after': String(attempt.waitSeconds) });
  }
  if (attempt === 'wrong') return undoForm(request, found, FAULTS[outcome]);
  await recordEvent(app, http, user.id, 'email_change_undone');
  app.mailer.post('password_notice', async () => passwordNotice(link.email, app.config.baseUrl));
  return withHeaders(redirect('/login?done=undone'), browser.headers());
});

const FAULTS = {
  changed: '',
  taken: 'This address has another account now, so this one cannot have it again.',
  stale: 'The account was changed at this very moment. Please try again.',
} as const;

function undoForm(
  { show }: PublicRequest,
  { token, link: { email } }: UndoLink,
  fault?: string,
  status = fault ? 400 : 200,
): HttpResponse {
  return show((csrfToken) => undoEmailChangePage({ csrfToken, token, email, fault }), { status });
}
