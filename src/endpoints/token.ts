import { type Answer, errorAnswer, json } from '../answer.ts';
import type { App } from '../app.ts';
import { protocolError, REUSED_REFRESH_TOKEN } from '../protocol/errors.ts';
import { given } from '../protocol/parameters.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { formatScope, parseScope, type ScopeSet, UNKNOWN_SCOPE } from '../protocol/scope.ts';
import type { Link } from '../store/store.ts';
import type { ClientEndpoint, ClientRequest } from './client-request.ts';
import {
  missing,
  notOurs,
  refusedCode,
  refusedRefreshToken,
  refusedScope,
  replayedCode,
  reusedRefreshToken,
  unsupportedGrantType,
} from './refusal-notes.ts';

/** POST /oauth/token (spec 4.1 and 4.2, RFC 6749 4.1.3 and 6). */
export const token: ClientEndpoint = {
  demand(parameters) {
    switch (given(parameters, 'grant_type')) {
      case undefined:
        return missing(parameters, ['grant_type']);
      case 'authorization_code':
        // An absent code_verifier is an invalid grant, not an invalid request (spec 4.1).
        return given(parameters, 'code') && given(parameters, 'redirect_uri')
          ? undefined
          : missing(parameters, ['code', 'redirect_uri']);
      case 'refresh_token':
        return given(parameters, 'refresh_token') ? undefined : missing(parameters, ['refresh_token']);
      default:
        return unsupportedGrantType(parameters);
    }
  },

  act(app, request) {
    return request.parameters.get('grant_type') === 'authorization_code'
      ? exchangeCode(app, request)
      : refresh(app, request);
  },
};

async function exchangeCode(app: App, { application, parameters, now }: ClientRequest): Promise<Answer> {
  const code = given(parameters, 'code')!;
  const link = app.keys.sealer.openCode(code);
  if (!link) return errorAnswer('invalid_grant', notOurs('not_a_code', code));
  const verifier = given(parameters, 'code_verifier');
  const result = await app.store.grants.redeemCode({
    link,
    clientId: application.clientId,
    redirectUri: given(parameters, 'redirect_uri')!,
    codeChallenge: verifier === undefined ? undefined : challengeOf(verifier),
    now,
    expiresAt: now + app.config.refreshTokenTtl,
  });
  switch (result.outcome) {
    case 'redeemed':
      return issue(app, { ...link, generation: 1 }, result.scope, now);
    case 'replayed':
      if (result.cut) app.metrics?.grantCut('code_replay');
      return errorAnswer('invalid_grant', replayedCode(result, link, application));
    case 'refused':
      return errorAnswer('invalid_grant', refusedCode(result, link, parameters, now));
  }
}

async function refresh(app: App, { application, parameters, now }: ClientRequest): Promise<Answer> {
  const asked = given(parameters, 'scope');
  // Whatever is asked for, a token that was consumed must be recognised first: the store decides both in one.
  const scope = asked === undefined ? undefined : parseScope(asked) || UNKNOWN_SCOPE;
  const token = given(parameters, 'refresh_token')!;
  const link = app.keys.sealer.openRefreshToken(token);
  if (!link) return errorAnswer('invalid_grant', notOurs('not_a_refresh_token', token));
  const result = await app.store.grants.rotate({
    link,
    clientId: application.clientId,
    scope,
    now,
    expiresAt: now + app.config.refreshTokenTtl,
    codesExpiredBefore: now - app.config.codeTtl,
  });
  switch (result.outcome) {
    case 'rotated':
      return issue(app, { ...link, generation: link.generation + 1 }, result.scope, now);
    case 'reused': {
      if (result.cut) app.metrics?.grantCut('refresh_token_reuse');
      const note = reusedRefreshToken(result, link, application);
      return errorAnswer(protocolError('invalid_grant', REUSED_REFRESH_TOKEN), note);
    }
    case 'scope_exceeded':
      return errorAnswer(
        'invalid_scope',
        refusedScope(scope === UNKNOWN_SCOPE ? 'unknown_scope' : 'scope_exceeded', asked!, result.grant),
      );
    case 'refused':
      if (result.reason === 'ahead') app.log.error(DATABASE_IS_OLDER);
      return errorAnswer('invalid_grant', refusedRefreshToken(result, link, now));
  }
}

const DATABASE_IS_OLDER =
  'a refresh token is ahead of the database: it was restored from an older backup, or failed over to a node that ' +
  'lacked the last changes. The grant was ended. See docs/operations.md, and run: bin/postern restored';

/** The response is put together by hand: every part of it is of our own making and needs no escaping. */
function issue(app: App, link: Link, scope: ScopeSet, now: number): Answer {
  const { sealer } = app.keys;
  const accessToken = sealer.sealAccessToken({ ...link, expiresAt: now + app.config.accessTokenTtl, scope });
  const refreshToken = sealer.sealRefreshToken(link);
  return json(
    `{"access_token":"${accessToken}","refresh_token":"${refreshToken}","token_type":"Bearer",` +
      `"expires_in":${app.config.accessTokenTtl / 1000},"scope":"${formatScope(scope)}"}`,
    { entry: { link } },
  );
}
