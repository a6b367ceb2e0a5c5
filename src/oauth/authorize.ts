import { isDeepStrictEqual } from 'node:util';
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
import { NO_DETAILS } from '../protocol/failure-reason.ts';
import { param } from '../protocol/parameters.ts';
import { nearest, redirectWith } from '../protocol/redirect-uri.ts';
import { formatScope, includes, type ScopeSet, scopesIn, unionOf } from '../protocol/scope.ts';
import type { Diagnostics } from '../request-log/diagnostics.ts';
import type { Application } from '../store/applications.ts';
import type { User } from '../store/users.ts';

/** A consent screen left open longer than this must be loaded again. */
export const CONSENT_TTL_MS = 60 * 60_000;
const MAX_URI_LENGTH = 2000;

/** An authorization request whose client and redirect URI are valid. */
type AuthorizationRequest = {
  readonly application: Application;
  readonly redirectUri: string;
  readonly rawState: string | undefined;
  readonly codeChallenge: string;
  readonly scope: ScopeSet;
};

/** Carried by the consent form, signed: the request as sent, what was shown, and the id of the grant it may become. */
type PendingConsent = {
  readonly query: string;
  readonly grantId: string;
  readonly shownAt: number;
  readonly shown: ShownConsent;
};

/** The parts of the screen that an owner may change while it is open. */
type ShownConsent = {
  readonly name: string;
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
};

const shownConsent = ({ application, scope }: AuthorizationRequest): ShownConsent => ({
  name: application.name,
  scope,
  optionalScope: application.optionalScope,
});

/** GET /oauth/authorize: the consent screen (protocol 4.5, RFC 6749 4.1.1). */
export async function showConsent(app: App, http: HttpRequest): Promise<HttpResponse> {
  const query = http.rawQuery;
  const read = await readRequest(app, http, query);
  if ('refusal' in read) return read.refusal;
  const { request, fault } = read;
  const browser = new Browser(app, http);
  const user = await browser.user();
  const self = `/oauth/authorize?${query}`;
  // Also before an error is redirected: else anybody who registers an application has an open redirector (RFC 9700 4.11.2).
  if (!user) return redirect(loginPath(self));
  if (fault) return redirectError(app, http, request, fault);
  const { application, redirectUri, scope } = request;
  const content = consentPage({
    applicationName: application.name,
    claimedSite: application.homepageUrl === null ? undefined : new URL(application.homepageUrl).host,
    ownerDomain: await ownerDomain(app, application),
    user,
    scope,
    optionalScope: application.optionalScope,
    redirectHost: new URL(redirectUri).host,
    request: signConsent(browser, {
      query,
      grantId: newId(),
      shownAt: app.now(),
      shown: shownConsent(request),
    }),
    csrfToken: browser.csrfToken(),
    switchAccountTo: self,
  });
  return htmlResponse(content, {
    formTarget: formTargetOf(redirectUri),
    diagnostics: { clientId: application.clientId },
  });
}

/** The domain of the owner's confirmed email address: that much of an application's identity is verified. */
async function ownerDomain(app: App, { ownerId }: Application): Promise<string | undefined> {
  const owner = await app.store.users.find(ownerId);
  return owner?.emailVerified ? owner.email.slice(owner.email.lastIndexOf('@') + 1) : undefined;
}

/** POST /oauth/authorize: the user's decision. Anything but `allow` denies. */
export async function decideConsent(app: App, http: HttpRequest): Promise<HttpResponse> {
  const browser = new Browser(app, http);
  const form = formOf(http);
  const pending = verifyConsent(browser, form, app.now());
  if (!pending) return consentExpired(http);
  const read = await readRequest(app, http, pending.query);
  if ('refusal' in read) return read.refusal;
  const { request, fault } = read;
  const user = await browser.user();
  const consentScreen = `/oauth/authorize?${pending.query}`;
  if (!user) return redirect(loginPath(consentScreen));
  if (fault) return redirectError(app, http, request, fault);
  if (param(form, 'decision') !== 'allow') return redirectError(app, http, request, DENIED);
  // The user consents to what was on the screen: if that is no longer what would be granted, it is shown again.
  if (!isDeepStrictEqual(pending.shown, shownConsent(request))) return redirect(consentScreen);
  return allow(app, http, request, pending, user, grantedScope(request, form));
}

/**
 * The grant id was chosen when the screen was shown, so a second click creates no second grant: it gets the same code
 * while that is unused, and the consent screen again after that.
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
  const outcome = await app.store.grants.create({
    userId: user.id,
    grantId,
    clientId: application.clientId,
    scope,
    redirectUri,
    codeChallenge,
    now,
    expiresAt: now + app.config.codeTtlMs,
  });
  if (outcome === 'too_many') return tooManyGrants(http);
  if (outcome === 'refused') return redirect(`/oauth/authorize?${query}`);
  await recordEvent(app, http, user.id, 'granted', {
    id: `granted ${grantId}`,
    clientId: application.clientId,
  });
  const code = app.keys.tokenSigner.signCode({ userId: user.id, grantId, generation: 0 });
  return redirect(redirectWith(redirectUri, { code, iss: app.config.baseUrl }, rawState), {
    clientId: application.clientId,
    ref: { userId: user.id, grantId, generation: 0 },
  });
}

/** All requested scopes that are required, and the optional ones that the user left ticked. */
function grantedScope(
  { application, scope }: AuthorizationRequest,
  form: ReadonlyMap<string, string>,
): ScopeSet {
  return unionOf(
    scopesIn(scope).filter(
      ({ name, bit }) => !includes(application.optionalScope, bit) || form.has(`scope_${name}`),
    ),
  );
}

/** A fault is redirected to the client. */
type ReadRequest = {
  readonly request: AuthorizationRequest;
  readonly fault: AuthorizationFault | undefined;
};

/**
 * Until client and redirect URI are known to belong together, an error is a page (RFC 6749 4.1.2.1); after that every
 * error goes back to the client.
 */
async function readRequest(
  app: App,
  http: HttpRequest,
  query: string,
): Promise<ReadRequest | { readonly refusal: HttpResponse }> {
  const parsed = parseAuthorizationQuery(query);
  const { clientId, redirectUri, codeChallenge, rawState } = parsed;
  const refused = (fault: UnredirectableFault, application?: Application) => ({
    refusal: errorPage(http, parsed, fault, application),
  });
  if (clientId === undefined) return refused('client_id_missing');
  const application = await app.store.applications.find(clientId);
  if (!application) return refused('client_unknown');
  if (application.disabledAt !== null) return refused('client_disabled', application);
  if (redirectUri === undefined) return refused('redirect_uri_missing', application);
  if (!application.redirectUris.includes(redirectUri))
    return refused('redirect_uri_unregistered', application);

  const scope = parsed.scope ?? application.scope;
  const request = { application, redirectUri, rawState, codeChallenge, scope };
  return { request, fault: parsed.fault ?? scopeFault(parsed, application) };
}

function scopeFault({ scope }: AuthorizationQuery, application: Application): AuthorizationFault | undefined {
  if (scope === undefined || includes(application.scope, scope)) return undefined;
  const details = { requested: formatScope(scope), registered: formatScope(application.scope) };
  return { error: 'invalid_scope', failure: { reason: 'scope_unregistered', details } };
}

const DENIED: AuthorizationFault = {
  error: 'access_denied',
  failure: { reason: 'access_denied', details: NO_DETAILS },
};

function redirectError(
  app: App,
  http: HttpRequest,
  { application, redirectUri, rawState }: AuthorizationRequest,
  { error, failure }: AuthorizationFault,
): HttpResponse {
  const { description: error_description } = protocolError(error);
  const { baseUrl } = app.config;
  const error_uri = errorUri(baseUrl, http.id);
  const location = redirectWith(redirectUri, { error, error_description, error_uri, iss: baseUrl }, rawState);
  return { ...redirect(location, { clientId: application.clientId, failure }), error };
}

/**
 * Names the application, which anybody with its client_id has seen on its consent screen. Its registered redirect
 * URIs are not disclosed here: they are in its own request log.
 */
function errorPage(
  http: HttpRequest,
  { clientId, redirectUri }: AuthorizationQuery,
  fault: UnredirectableFault,
  application?: Application,
): HttpResponse {
  const applicationName = application?.name;
  const content = authorizeErrorPage({ fault, applicationName, clientId, redirectUri, requestId: http.id });
  const diagnostics = diagnosticsOf(fault, redirectUri, application);
  return { ...htmlResponse(content, { status: 400, diagnostics }), error: 'invalid_request' };
}

function diagnosticsOf(fault: UnredirectableFault, sent = '', application?: Application): Diagnostics {
  const clientId = application?.clientId;
  switch (fault) {
    case 'client_id_missing':
    case 'client_unknown':
      return { reason: fault };
    case 'redirect_uri_unregistered': {
      const expected = nearest(sent, application?.redirectUris ?? []);
      const details = { sent: sent.slice(0, MAX_URI_LENGTH), expected };
      return { clientId, failure: { reason: fault, details } };
    }
    default:
      return { clientId, failure: { reason: fault, details: NO_DETAILS } };
  }
}

/** Only a program consents this often. */
function tooManyGrants(http: HttpRequest): HttpResponse {
  const content = messagePage({
    title: 'Too many connections',
    paragraphs: [
      'You have connected this application very often within the last hour. Nothing was shared. Try again in an hour.',
    ],
    requestId: http.id,
  });
  const headers = { 'retry-after': '3600' };
  return htmlResponse(content, { status: 429, headers, diagnostics: { reason: 'too_many_grants' } });
}

function consentExpired(http: HttpRequest): HttpResponse {
  const content = messagePage({
    title: 'This page is out of date',
    paragraphs: ['Nothing was shared. Go back to the application and start again.'],
    requestId: http.id,
  });
  return htmlResponse(content, { status: 403, diagnostics: { reason: 'consent_expired' } });
}

function signConsent(browser: Browser, pending: PendingConsent): string {
  const payload = Buffer.from(JSON.stringify(pending)).toString('base64url');
  return `${payload}.${browser.sign('consent', payload)}`;
}

/** Undefined when it was signed for another session, tampered with, or shown too long ago. */
function verifyConsent(
  browser: Browser,
  form: ReadonlyMap<string, string>,
  now: number,
): PendingConsent | undefined {
  const [payload = '', signature = ''] = (form.get('request') ?? '').split('.');
  if (browser.isCrossSite() || !browser.verify('consent', payload, signature)) return undefined;
  const pending = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as PendingConsent;
  return now - pending.shownAt < CONSENT_TTL_MS ? pending : undefined;
}
