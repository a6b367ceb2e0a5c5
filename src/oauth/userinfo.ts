import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { errorResponse, type HttpResponse, jsonResponse, withHeaders } from '../http/response.ts';
import { credentialsOf } from '../protocol/authorization-header.ts';
import { claimsFor } from '../protocol/profile.ts';
import type { AccessLogReason } from '../request-log/diagnostics.ts';
import { checkAccessToken } from './access-token.ts';

/** GET /oauth/userinfo (protocol 4.3, RFC 6750 2.1): the token is read from the Authorization header only. */
export async function userinfo(app: App, request: HttpRequest): Promise<HttpResponse> {
  const token = credentialsOf('bearer', request.headers.authorization);
  if (!token) return unauthorized('no_token', 'Bearer realm="postern"');
  const access = await checkAccessToken(app, token);
  if (access.outcome !== 'live') return unauthorized(access.reason);
  return jsonResponse(JSON.stringify(claimsFor(access.user, access.token.scope)), {
    clientId: access.clientId,
  });
}

/** RFC 6750 3.1: a request without a token gets a challenge without an error code. */
function unauthorized(
  reason: AccessLogReason,
  challenge = 'Bearer realm="postern", error="invalid_token"',
): HttpResponse {
  return withHeaders(errorResponse('invalid_token', { reason }), { 'www-authenticate': challenge });
}
