import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { errorResponse, type HttpResponse, jsonResponse, withHeaders } from '../http/response.ts';
import { network } from '../protocol/address.ts';
import { hashClientSecret, secretMatches } from '../protocol/client-secret.ts';
import { param } from '../protocol/parameters.ts';
import { RateWindows, rateLimitState } from '../protocol/rate-window.ts';
import { formatScope } from '../protocol/scope.ts';
import type { ResourceServer } from '../store/resource-servers.ts';
import { checkAccessToken } from './access-token.ts';
import { readClientParameters } from './client-auth.ts';

const WINDOW_MS = 60_000;
/** Wrong credentials a minute from one address. Secrets are 256 random bits: this is against noise, not guessing. */
const MAX_FAILURES = 30;

/** RFC 7662 2.2: one response for everything that is not a live access token, so that it tells nothing. */
const INACTIVE = '{"active":false}';

/**
 * POST /oauth/introspect (RFC 7662), for the platform's own APIs, with credentials of their own.
 * No part of the interface for applications: an application's credentials are refused like any
 * wrong ones. A caller who has proven itself is not counted; a wrong one is, and never stands in
 * the way of a right one behind the same address.
 */
export function introspection(app: App): (http: HttpRequest) => Promise<HttpResponse> {
  const failures = new RateWindows(WINDOW_MS, 10_000);
  return async (http) => {
    const { parameters, clientId, clientSecret, fault } = readClientParameters(http);
    if (fault !== undefined) return errorResponse('invalid_request', { reason: fault });
    const caller = await authenticate(app, clientId, clientSecret);
    if (!caller) return refuse(app, failures, http.ip);
    const token = param(parameters, 'token');
    if (token === undefined) return errorResponse('invalid_request', { clientId: caller.id });
    return describe(app, token, caller);
  };
}

async function describe(app: App, text: string, caller: ResourceServer): Promise<HttpResponse> {
  const access = await checkAccessToken(app, text);
  if (access.outcome !== 'live')
    return jsonResponse(INACTIVE, { clientId: caller.id, reason: access.reason });
  const { clientId, user, token } = access;
  const body = {
    active: true,
    scope: formatScope(token.scope),
    client_id: clientId,
    sub: user.id,
    token_type: 'Bearer',
    exp: Math.floor(token.expiresAt / 1000),
  };
  return jsonResponse(JSON.stringify(body), { clientId: caller.id });
}

/** An unknown caller costs the same hash and comparison as a known one. */
const NO_SECRET = hashClientSecret('');

async function authenticate(
  app: App,
  id: string | undefined,
  secret: string | undefined,
): Promise<ResourceServer | undefined> {
  if (id === undefined || secret === undefined) return undefined;
  const caller = await app.store.resourceServers.find(id);
  const matched = secretMatches(hashClientSecret(secret), caller?.secretHash ?? NO_SECRET);
  return matched ? caller : undefined;
}

function refuse(app: App, failures: RateWindows, address: string): HttpResponse {
  const now = app.now();
  const state = rateLimitState(failures.hit(network(address), now), MAX_FAILURES, WINDOW_MS, now);
  if (!state.exceeded) return errorResponse('invalid_client', { reason: 'not_a_resource_server' });
  const headers = { 'retry-after': String(state.resetSeconds) };
  return withHeaders(errorResponse('rate_limit_exceeded', { reason: 'address' }), headers);
}
