import { json } from '../answer.ts';
import { given } from '../protocol/parameters.ts';
import type { ClientEndpoint } from './client-request.ts';

const REVOKED = '{"revoked":true}';

/**
 * POST /oauth/revoke (spec 4.4, RFC 7009). The answer is the same whatever became of the
 * token. The hint is not needed: a sealed credential says itself what it is.
 */
export const revoke: ClientEndpoint = {
  demand: (parameters) => (given(parameters, 'token') ? undefined : 'invalid_request'),

  async act(app, { application, parameters, now }) {
    const text = given(parameters, 'token')!;
    const { sealer } = app.keys;
    const refreshToken = sealer.openRefreshToken(text);
    if (refreshToken && (await app.store.grants.revoke(refreshToken, application.clientId, now)))
      app.metrics?.grantCut('revoked_by_client');
    const accessToken = sealer.openAccessToken(text);
    if (accessToken && accessToken.expiresAt > now) {
      await app.store.grants.revokeAccessToken(accessToken, application.clientId, accessToken.expiresAt);
    }
    return json(REVOKED);
  },
};
