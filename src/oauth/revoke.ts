import { jsonResponse } from '../http/response.ts';
import { param } from '../protocol/parameters.ts';
import type { ClientEndpoint } from './client-auth.ts';
import { missing } from './failure-details.ts';

const REVOKED = '{"revoked":true}';

/**
 * POST /oauth/revoke (spec 4.4, RFC 7009). The response is the same whatever became of the
 * token. The hint is not needed: a sealed credential says itself what it is.
 */
export const revoke: ClientEndpoint = {
  validate: (parameters) => (param(parameters, 'token') ? undefined : missing(parameters, ['token'])),

  async handle(app, { application, parameters, now }) {
    const text = param(parameters, 'token')!;
    const { tokenSigner } = app.keys;
    const refreshToken = tokenSigner.verifyRefreshToken(text);
    if (refreshToken) {
      const ended = await app.store.grants.revoke(refreshToken, application.clientId, now);
      if (ended) app.metrics?.grantRevoked('revoked_by_client');
      return jsonResponse(REVOKED, {
        reason: ended ? 'revoked' : 'nothing_revoked',
        logEntry: { ref: refreshToken },
      });
    }
    const accessToken = tokenSigner.verifyAccessToken(text);
    if (!accessToken || accessToken.expiresAt <= now)
      return jsonResponse(REVOKED, { reason: 'nothing_revoked' });
    await app.store.revokedAccessTokens.add(accessToken, application.clientId, accessToken.expiresAt);
    return jsonResponse(REVOKED, { reason: 'access_token_revoked' });
  },
};
