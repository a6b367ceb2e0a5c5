import type { App } from '../app.ts';
import { errorResponse, type HttpResponse, jsonResponse } from '../http/response.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import { protocolError, REUSED_REFRESH_TOKEN } from '../protocol/errors.ts';
import { param } from '../protocol/parameters.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { formatScope, parseScope, type ScopeSet, UNKNOWN_SCOPE } from '../protocol/scope.ts';
import type { ClientEndpoint, ClientRequest } from './client-auth.ts';
import {
  missing,
  notOurs,
  refusedCode,
  refusedRefreshToken,
  refusedScope,
  replayedCode,
  reusedRefreshToken,
  unsupportedGrantType,
} from './failure-details.ts';

/** POST /oauth/token (spec 4.1 and 4.2, RFC 6749 4.1.3 and 6). */
export const token: ClientEndpoint = {
  validate(parameters) {
    switch (param(parameters, 'grant_type')) {
      case undefined:
        return missing(parameters, ['grant_type']);
      case 'authorization_code':
        // An absent code_verifier is an invalid grant, not an invalid request (spec 4.1).
        return param(parameters, 'code') && param(parameters, 'redirect_uri')
          ? undefined
          : missing(parameters, ['code', 'redirect_uri']);
      case 'refresh_token':
        return param(parameters, 'refresh_token') ? undefined : missing(parameters, ['refresh_token']);
      default:
        return unsupportedGrantType(parameters);
    }
  },

  handle(app, request) {
    return request.parameters.get('grant_type') === 'authorization_code'
      ? exchangeCode(app, request)
      : refresh(app, request);
  },
};

async function exchangeCode(
  app: App,
  { application, parameters, now }: ClientRequest,
): Promise<HttpResponse> {
  const code = param(parameters, 'code')!;
  const ref = app.keys.tokenSigner.verifyCode(code);
  if (!ref) return errorResponse('invalid_grant', notOurs('not_a_code', code));
  const verifier = param(parameters, 'code_verifier');
  const result = await app.store.grants.redeemCode({
    ref,
    clientId: application.clientId,
    redirectUri: param(parameters, 'redirect_uri')!,
    codeChallenge: verifier === undefined ? undefined : challengeOf(verifier),
    now,
    expiresAt: now + app.config.refreshTokenTtlMs,
  });
  switch (result.outcome) {
    case 'redeemed':
      return issue(app, { ...ref, generation: 1 }, result.scope, now);
    case 'replayed':
      if (result.revoked) app.metrics?.grantRevoked('code_replay');
      return errorResponse('invalid_grant', replayedCode(result, ref, application));
    case 'refused':
      return errorResponse('invalid_grant', refusedCode(result, ref, parameters, now));
  }
}

async function refresh(app: App, { application, parameters, now }: ClientRequest): Promise<HttpResponse> {
  const asked = param(parameters, 'scope');
  // Whatever is asked for, a token that was consumed must be recognised first: the store decides both in one.
  const scope = asked === undefined ? undefined : parseScope(asked) || UNKNOWN_SCOPE;
  const token = param(parameters, 'refresh_token')!;
  const ref = app.keys.tokenSigner.verifyRefreshToken(token);
  if (!ref) return errorResponse('invalid_grant', notOurs('not_a_refresh_token', token));
  const result = await app.store.grants.rotate({
    ref,
    clientId: application.clientId,
    scope,
    now,
    expiresAt: now + app.config.refreshTokenTtlMs,
    codesExpiredBefore: now - app.config.codeTtlMs,
  });
  switch (result.outcome) {
    case 'rotated':
      return issue(app, { ...ref, generation: ref.generation + 1 }, result.scope, now);
    case 'reused': {
      if (result.revoked) app.metrics?.grantRevoked('refresh_token_reuse');
      const diagnostics = reusedRefreshToken(result, ref, application);
      return errorResponse(protocolError('invalid_grant', REUSED_REFRESH_TOKEN), diagnostics);
    }
    case 'scope_exceeded':
      return errorResponse(
        'invalid_scope',
        refusedScope(scope === UNKNOWN_SCOPE ? 'unknown_scope' : 'scope_exceeded', asked!, result.grant),
      );
    case 'refused':
      if (result.reason === 'ahead') app.log.error(DATABASE_IS_OLDER);
      return errorResponse('invalid_grant', refusedRefreshToken(result, ref, now));
  }
}

const DATABASE_IS_OLDER =
  'a refresh token is ahead of the database: it was restored from an older backup, or failed over to a node that ' +
  'lacked the last changes. The grant was ended. See docs/operations.md, and run: bin/postern restored';

/** The response is put together by hand: every part of it is of our own making and needs no escaping. */
function issue(app: App, ref: GrantRef, scope: ScopeSet, now: number): HttpResponse {
  const { tokenSigner } = app.keys;
  const accessToken = tokenSigner.signAccessToken({
    ...ref,
    expiresAt: now + app.config.accessTokenTtlMs,
    scope,
  });
  const refreshToken = tokenSigner.signRefreshToken(ref);
  return jsonResponse(
    `{"access_token":"${accessToken}","refresh_token":"${refreshToken}","token_type":"Bearer",` +
      `"expires_in":${app.config.accessTokenTtlMs / 1000},"scope":"${formatScope(scope)}"}`,
    { logEntry: { ref } },
  );
}
