import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { errorResponse, type HttpResponse, jsonResponse, withHeaders } from '../http/response.ts';
import { claimsFor } from '../protocol/claims.ts';
import { checkAccessToken } from './access-token.ts';

/** GET /oauth/userinfo (spec 4.3, RFC 6750): the token comes in the Authorization header and nowhere else. */
export async function userinfo(app: App, request: HttpRequest): Promise<HttpResponse> {
  const header = request.headers.authorization;
  const match = /^bearer +(.+)$/i.exec(header ?? '');
  if (!match) return unauthorized('no_token', 'Bearer realm="postern"');
  const access = await checkAccessToken(app, match[1]!);
  if (access.outcome !== 'live') return unauthorized(access.reason);
  return jsonResponse(JSON.stringify(claimsFor(access.user, access.token.scope)), {
    clientId: access.clientId,
  });
}

/** RFC 6750 3.1: a request that carried no token learns nothing of an error. */
function unauthorized(
  reason: string,
  challenge = 'Bearer realm="postern", error="invalid_token"',
): HttpResponse {
  return withHeaders(errorResponse('invalid_token', { reason }), { 'www-authenticate': challenge });
}
