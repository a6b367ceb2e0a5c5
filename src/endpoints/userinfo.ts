import { type Answer, errorAnswer, json, withHeaders } from '../answer.ts';
import type { App } from '../app.ts';
import type { HttpRequest } from '../http-request.ts';
import { claimsFor } from '../protocol/claims.ts';
import { liveAccess } from './live-access.ts';

/** GET /oauth/userinfo (spec 4.3, RFC 6750): the token comes in the Authorization header and nowhere else. */
export async function userinfo(app: App, request: HttpRequest): Promise<Answer> {
  const header = request.headers.authorization;
  const match = /^bearer +(.+)$/i.exec(header ?? '');
  if (!match) return unauthorized('no_token', 'Bearer realm="postern"');
  const access = await liveAccess(app, match[1]!);
  if (access.outcome !== 'live') return unauthorized(access.reason);
  return json(JSON.stringify(claimsFor(access.user, access.token.scope)), { client: access.clientId });
}

/** RFC 6750 3.1: a request that carried no token learns nothing of an error. */
function unauthorized(reason: string, challenge = 'Bearer realm="postern", error="invalid_token"'): Answer {
  return withHeaders(errorAnswer('invalid_token', { reason }), { 'www-authenticate': challenge });
}
