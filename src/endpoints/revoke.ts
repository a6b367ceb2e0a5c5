import { json } from '../answer.ts';
import { given } from '../protocol/parameters.ts';
import type { ClientEndpoint } from './client-request.ts';
import { missing } from './refusal-notes.ts';

const REVOKED = '{"revoked":true}';

/**
 * POST /oauth/revoke (spec 4.4, RFC 7009). The answer is the same whatever became of the
 * token. The hint is not needed: a sealed credential says itself what it is.
 */
export const revoke: ClientEndpoint = {
  demand: (parameters) => (given(parameters, 'token') ? undefined : missing(parameters, ['token'])),

  async act(app, { application, parameters, now }) {
    const text = given(parameters, 'token')!;
    const { sealer } = app.keys;
    const refreshToken = sealer.openRefreshToken(text);
    if (refreshToken) {
      const ended = await app.store.grants.revoke(refreshToken, application.clientId, now);
      if (ended) app.metrics?.grantCut('revoked_by_client');
      return json(REVOKED, { reason: ended ? 'revoked' : 'nothing_revoked', entry: { link: refreshToken } });
    }
    const accessToken = sealer.openAccessToken(text);
    if (!accessToken || accessToken.expiresAt <= now) return json(REVOKED, { reason: 'nothing_revoked' });
    await app.store.grants.revokeAccessToken(accessToken, application.clientId, accessToken.expiresAt);
    return json(REVOKED, { reason: 'access_token_revoked' });
  },
};
