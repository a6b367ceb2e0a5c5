import { jsonResponse } from '../http/response.ts';
import { param } from '../protocol/parameters.ts';
import type { ClientEndpoint } from './client-endpoint.ts';
import { missing } from './failure-details.ts';

const REVOKED = '{"revoked":true}';

/**
 * POST /oauth/revoke (protocol 4.4, RFC 7009). The response is the same in every case, so that it cannot be used to
 * test tokens. The hint is not needed: a signed credential states its own kind.
 */
export const revoke: ClientEndpoint = {
  validate: (parameters) => missing(parameters, ['token']),

  async handle(app, { http, application, parameters, now }) {
    const text = param(parameters, 'token')!;
    const { tokenSigner } = app.keys;
    const refreshToken = tokenSigner.verifyRefreshToken(text);
    if (refreshToken) {
      http.ref = refreshToken;
      const revoked = await app.store.grants.revoke(refreshToken, application.clientId, now);
      if (revoked) app.metrics?.grantRevoked('revoked_by_client');
      return jsonResponse(REVOKED, { success: revoked ? 'revoked' : 'nothing_revoked', ref: refreshToken });
    }
    const accessToken = tokenSigner.verifyAccessToken(text);
    if (!accessToken || accessToken.expiresAt <= now)
      return jsonResponse(REVOKED, { success: 'nothing_revoked' });
    await app.store.revokedAccessTokens.add(accessToken, application.clientId, accessToken.expiresAt);
    return jsonResponse(REVOKED, { success: 'access_token_revoked' });
  },
};
