import { Browser } from '../accounts/browser.ts';
import { loginPath } from '../accounts/return-to.ts';
import { recordEvent } from '../accounts/security-events.ts';
import type { App } from '../app.ts';
import { formOf } from '../http/form.ts';
import { formTargetOf, htmlResponse } from '../http/html-response.ts';
import type { HttpRequest } from '../http/request.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import { authorizeErrorPage } from '../pages/authorize-error.ts';
import { consentPage } from '../pages/consent.ts';
import { messagePage } from '../pages/message.ts';
import {
  type AuthorizationFault,
  type AuthorizationQuery,
  parseAuthorizationQuery,
  type UnredirectableFault,
} from '../protocol/authorization-request.ts';
import { newId } from '../protocol/credentials.ts';
import { errorUri, protocolError } from '../protocol/errors.ts';
import { param } from '../protocol/parameters.ts';
import { nearest, redirectWith } from '../protocol/redirect-uri.ts';
import { formatScope, includes, type ScopeSet, scopeNames, scopeOf } from '../protocol/scope.ts';
import type { Application } from '../store/applications.ts';
import type { LogDetails } from '../store/request-log.ts';
import type { User } from '../store/users.ts';

/** How long a consent screen may stand open before it is answered. */
const CONSENT_TTL_MS = 60 * 60_000;
const MAX_URI_LENGTH = 2000;

/** An authorization request whose every parameter is right. */
type AuthorizationRequest = {
  readonly application: Application;
  readonly redirectUri: string;
  readonly rawState: string | undefined;
  readonly codeChallenge: string;
  readonly scope: ScopeSet;
};

/** What the consent form carries: the request as it came, and the grant that saying yes will make. */
type PendingConsent = { readonly query: string; readonly grantId: string; readonly shownAt: number };

/** GET /oauth/authorize: the consent screen (spec 4.5, RFC 6749 4.1.1). */
export async function showConsent(app: App, http: HttpRequest): Promise<HttpResponse> {
  const query = http.rawQuery;
  const request = await readRequest(app, http, query);
  if ('status' in request) return request;
  const browser = new Browser(app, http);
  const user = await browser.user();
  const self = `/oauth/authorize?${query}`;
  if (!user) return redirect(loginPath(self));
  const { application, redirectUri, scope } = request;
  const content = consentPage({
    applicationName: application.name,
    claimedSite: application.homepageUrl === null ? undefined : new URL(application.homepageUrl).host,
    ownerDomain: await ownerDomain(app, application),
    user,
    scope,
    optionalScope: application.optionalScope,
    redirectHost: new URL(redirectUri).host,
    request: sealConsent(browser, { query, grantId: newId(), shownAt: app.now() }),
    csrfToken: browser.csrfToken(),
    switchAccountTo: self,
  });
  return htmlResponse(content, {
    formTarget: formTargetOf(redirectUri),
    diagnostics: { clientId: application.clientId },
  });
}

/** Who is behind an application, as far as it was proven: the domain of its owner's confirmed address. */
async function ownerDomain(app: App, { ownerId }: Application): Promise<string | undefined> {
  const owner = await app.store.users.find(ownerId);
  return owner?.emailVerified ? owner.email.slice(owner.email.lastIndexOf('@') + 1) : undefined;
}

/** POST /oauth/authorize: the user's response. Whatever is not a yes is a no. */
export async function decideConsent(app: App, http: HttpRequest): Promise<HttpResponse> {
  const browser = new Browser(app, http);
  const form = formOf(http);
  const pending = openConsent(browser, form, app.now());
  if (!pending) return staleForm(http);
  const request = await readRequest(app, http, pending.query);
  if ('status' in request) return request;
  const user = await browser.user();
  if (!user) return redirect(loginPath(`/oauth/authorize?${pending.query}`));
  if (param(form, 'decision') !== 'allow') return refuse(app, http, request, DENIED);
  return allow(app, http, request, pending, user, grantedScope(request, form));
}

/**
 * The grant's id was chosen when the screen was shown, so a second click makes no second
 * grant: it gets the same code while that is still unused, and the screen anew after that.
 */
async function allow(
  app: App,
  http: HttpRequest,
  request: AuthorizationRequest,
  pending: PendingConsent,
  user: User,
  scope: ScopeSet,
): Promise<HttpResponse> {
  const { application, redirectUri, codeChallenge, rawState } = request;
  const { grantId, query } = pending;
  const now = app.now();
  const created = await app.store.grants.create({
    userId: user.id,
    grantId,
    clientId: application.clientId,
    scope,
    redirectUri,
    codeChallenge,
    now,
    expiresAt: now + app.config.codeTtlMs,
  });
  if (!created) return redirect(`/oauth/authorize?${query}`);
  await recordEvent(app, http, user.id, 'granted', {
    id: `granted ${grantId}`,
    clientId: application.clientId,
  });
  const code = app.keys.tokenSigner.signCode({ userId: user.id, grantId, generation: 0 });
  return redirect(redirectWith(redirectUri, { code, iss: app.config.baseUrl }, rawState), {
    clientId: application.clientId,
    logEntry: { ref: { userId: user.id, grantId, generation: 0 } },
  });
}

/** Required scopes as asked for; of the optional ones those that were left ticked. */
function grantedScope(
  { application, scope }: AuthorizationRequest,
  form: ReadonlyMap<string, string>,
): ScopeSet {
  return scopeNames(scope)
    .filter((name) => !includes(application.optionalScope, scopeOf(name)) || form.has(`scope_${name}`))
    .reduce((set, name) => set | scopeOf(name), 0);
}

/**
 * Until client and redirect URI are known to belong together nothing may be redirected
 * (RFC 6749 4.1.2.1); after that every error goes back to the client.
 */
async function readRequest(
  app: App,
  http: HttpRequest,
  query: string,
): Promise<AuthorizationRequest | HttpResponse> {
  const asked = parseAuthorizationQuery(query);
  const { clientId, redirectUri, codeChallenge, rawState } = asked;
  const refused = (reason: UnredirectableFault, application?: Application) =>
    refusedPage(http, asked, reason, application);
  if (clientId === undefined) return refused('client_id_missing');
  const application = await app.store.applications.find(clientId);
  if (!application) return refused('client_unknown');
  if (application.disabledAt !== null) return refused('client_disabled', application);
  if (redirectUri === undefined) return refused('redirect_uri_missing', application);
  if (!application.redirectUris.includes(redirectUri))
    return refused('redirect_uri_unregistered', application);

  const scope = asked.scope ?? application.scope;
  const request = { application, redirectUri, rawState, codeChallenge, scope };
  const fault = asked.fault ?? scopeFault(asked, application);
  return fault ? refuse(app, http, request, fault) : request;
}

function scopeFault({ scope }: AuthorizationQuery, application: Application): AuthorizationFault | undefined {
  if (scope === undefined || includes(application.scope, scope)) return undefined;
  const details = { asked: formatScope(scope), registered: formatScope(application.scope) };
  return { error: 'invalid_scope', reason: 'scope_unregistered', details };
}

const DENIED: AuthorizationFault = { error: 'access_denied', reason: 'access_denied' };

function refuse(
  app: App,
  http: HttpRequest,
  { application, redirectUri, rawState }: AuthorizationRequest,
  { error, reason, details = {} }: AuthorizationFault,
): HttpResponse {
  const { description: error_description } = protocolError(error);
  const { baseUrl } = app.config;
  const error_uri = errorUri(baseUrl, http.id);
  const location = redirectWith(redirectUri, { error, error_description, error_uri, iss: baseUrl }, rawState);
  return { ...redirect(location, { clientId: application.clientId, reason, logEntry: { details } }), error };
}

/** The name of the application is told: whoever has its client_id has seen its consent screen. Its addresses are not. */
function refusedPage(
  http: HttpRequest,
  { clientId, redirectUri }: AuthorizationQuery,
  fault: UnredirectableFault,
  application?: Application,
): HttpResponse {
  const applicationName = application?.name;
  const content = authorizeErrorPage({ fault, applicationName, clientId, redirectUri, requestId: http.id });
  const details =
    application && fault === 'redirect_uri_unregistered' ? mismatch(redirectUri!, application) : {};
  const response = htmlResponse(content, {
    status: 400,
    diagnostics: { clientId: application?.clientId, reason: fault, logEntry: { details } },
  });
  return { ...response, error: 'invalid_request' };
}

function mismatch(sent: string, { redirectUris }: Application): LogDetails {
  return { sent: sent.slice(0, MAX_URI_LENGTH), expected: nearest(sent, redirectUris) };
}

function staleForm(http: HttpRequest): HttpResponse {
  const content = messagePage({
    title: 'This page is out of date',
    paragraphs: ['Nothing was shared. Go back to the application and start again.'],
    requestId: http.id,
  });
  return htmlResponse(content, { status: 403, diagnostics: { reason: 'stale_consent' } });
}

function sealConsent(browser: Browser, pending: PendingConsent): string {
  const payload = Buffer.from(JSON.stringify(pending)).toString('base64url');
  return `${payload}.${browser.sign('consent', payload)}`;
}

/** Undefined when it was not made for this very session, was tampered with, or has stood too long. */
function openConsent(
  browser: Browser,
  form: ReadonlyMap<string, string>,
  now: number,
): PendingConsent | undefined {
  const [payload = '', signature = ''] = (form.get('request') ?? '').split('.');
  if (browser.isCrossSite() || !browser.verify('consent', payload, signature)) return undefined;
  const pending = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as PendingConsent;
  return now - pending.shownAt < CONSENT_TTL_MS ? pending : undefined;
}
