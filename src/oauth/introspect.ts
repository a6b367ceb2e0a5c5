import type { App } from '../app.ts';
import type { Handler } from '../http/request.ts';
import { errorResponse, type HttpResponse, jsonResponse, withHeaders } from '../http/response.ts';
import { networkBudgets, networkLimit } from '../limits/budget.ts';
import { NO_DETAILS } from '../protocol/failure-reason.ts';
import { param } from '../protocol/parameters.ts';
import { rateLimitState } from '../protocol/rate-window.ts';
import { formatScope } from '../protocol/scope.ts';
import { MemoryCounters } from '../store/counters.ts';
import type { ResourceServer } from '../store/resource-servers.ts';
import { checkAccessToken } from './access-token.ts';
import { authenticateResourceServer, readClientParameters } from './client-auth.ts';

/** Per minute. Secrets are 256 random bits: this limits noise, not guessing. */
const FAILURES = networkLimit({ name: 'introspection', windowMs: 60_000, max: 30 });

/** RFC 7662 2.2: one response for everything but a live access token, so that it discloses nothing. */
const INACTIVE = '{"active":false}';

/**
 * POST /oauth/introspect (protocol 4.6, RFC 7662), for the platform's own APIs. An application's credentials are
 * refused like any wrong ones. Only failures are limited, so a wrong caller never blocks a right one behind the same
 * address.
 */
export function introspection(): Handler {
  const failures = new MemoryCounters();
  return async (app, http) => {
    const caller = readClientParameters(http);
    if (caller.fault)
      return errorResponse('invalid_request', { failure: { reason: caller.fault, details: NO_DETAILS } });
    const resourceServer = await authenticateResourceServer(app, caller);
    if (!resourceServer) return refuse(app, failures, http.ip);
    const token = param(caller.parameters, 'token');
    if (token === undefined) return errorResponse('invalid_request', { clientId: resourceServer.id });
    return describe(app, token, resourceServer);
  };
}

async function describe(app: App, text: string, { id }: ResourceServer): Promise<HttpResponse> {
  const access = await checkAccessToken(app, text);
  if (access.outcome !== 'live') return jsonResponse(INACTIVE, { clientId: id, reason: access.reason });
  const { clientId, user, token } = access;
  const body = {
    active: true,
    scope: formatScope(token.scope),
    client_id: clientId,
    sub: user.id,
    token_type: 'Bearer',
    exp: Math.floor(token.expiresAt / 1000),
  };
  return jsonResponse(JSON.stringify(body), { clientId: id });
}

function refuse(app: App, failures: MemoryCounters, address: string): HttpResponse {
  const now = app.now();
  for (const { limit, key } of networkBudgets(FAILURES, address)) {
    const state = rateLimitState(failures.hit(limit, key, now, now), limit, now);
    if (!state.exceeded) continue;
    const headers = { 'retry-after': String(state.resetSeconds) };
    return withHeaders(errorResponse('rate_limit_exceeded', { reason: 'rate_limited_address' }), headers);
  }
  return errorResponse('invalid_client', { reason: 'not_a_resource_server' });
}
