import type { App } from '../app.ts';
import { errorResponse, type HttpResponse, jsonResponse } from '../http/response.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import { protocolError, REUSED_REFRESH_TOKEN } from '../protocol/errors.ts';
import { param } from '../protocol/parameters.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { formatScope, parseScope, type ScopeSet, UNKNOWN_SCOPE } from '../protocol/scope.ts';
import type { ClientEndpoint, ClientRequest } from './client-endpoint.ts';
import {
  missing,
  refusedCode,
  refusedRefreshToken,
  replayedCode,
  reusedRefreshToken,
  scopeNotGranted,
  unknownCredential,
  unsupportedGrantType,
} from './failure-details.ts';

const authorizationCode: ClientEndpoint = {
  // An absent code_verifier is an invalid grant, not an invalid request (protocol 4.1).
  validate: (parameters) => missing(parameters, ['code', 'redirect_uri']),
  handle: exchangeCode,
};

const refreshToken: ClientEndpoint = {
  validate: (parameters) => missing(parameters, ['refresh_token']),
  handle: refresh,
};

function endpointFor(grantType: string | undefined): ClientEndpoint | undefined {
  switch (grantType) {
    case 'authorization_code':
      return authorizationCode;
    case 'refresh_token':
      return refreshToken;
    default:
      return undefined;
  }
}

/** POST /oauth/token (protocol 4.1 and 4.2, RFC 6749 4.1.3 and 6). */
export const token: ClientEndpoint = {
  validate(parameters) {
    const grantType = param(parameters, 'grant_type');
    if (grantType === undefined) return missing(parameters, ['grant_type']);
    const endpoint = endpointFor(grantType);
    return endpoint ? endpoint.validate(parameters) : unsupportedGrantType(grantType);
  },

  handle: (app, request) => endpointFor(request.parameters.get('grant_type'))!.handle(app, request),
};

async function exchangeCode(
  app: App,
  { http, application, parameters, now }: ClientRequest,
): Promise<HttpResponse> {
  const code = param(parameters, 'code')!;
  const ref = app.keys.tokenSigner.verifyCode(code);
  if (!ref) return errorResponse('invalid_grant', unknownCredential('not_a_code', code));
  http.ref = ref;
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
      return issueTokens(app, { ...ref, generation: 1 }, result.scope, now);
    case 'replayed':
      if (result.revoked) app.metrics?.grantRevoked('code_replay');
      return errorResponse('invalid_grant', replayedCode(result, ref, application));
    case 'refused':
      return errorResponse('invalid_grant', refusedCode(result, ref, parameters, now));
  }
}

async function refresh(
  app: App,
  { http, application, parameters, now }: ClientRequest,
): Promise<HttpResponse> {
  const requested = param(parameters, 'scope');
  // An unknown scope is not refused here: reuse of the token must be recognised first, so it goes to the store as a scope
  // that no grant has. Spaces alone name no scope either.
  const scope = requested === undefined ? undefined : parseScope(requested) || UNKNOWN_SCOPE;
  const text = param(parameters, 'refresh_token')!;
  const ref = app.keys.tokenSigner.verifyRefreshToken(text);
  if (!ref) return errorResponse('invalid_grant', unknownCredential('not_a_refresh_token', text));
  http.ref = ref;
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
      return issueTokens(app, { ...ref, generation: ref.generation + 1 }, result.scope, now);
    case 'reused':
      if (result.revoked) app.metrics?.grantRevoked('refresh_token_reuse');
      return errorResponse(
        protocolError('invalid_grant', REUSED_REFRESH_TOKEN),
        reusedRefreshToken(result, ref, application),
      );
    case 'scope_exceeded': {
      const reason = scope === UNKNOWN_SCOPE ? 'unknown_scope' : 'scope_exceeded';
      return errorResponse('invalid_scope', scopeNotGranted(reason, requested!, result.grant));
    }
    case 'refused':
      if (result.reason === 'grant_behind_token') app.log.error(DATABASE_IS_OLDER);
      return errorResponse('invalid_grant', refusedRefreshToken(result, ref, now));
  }
}

const DATABASE_IS_OLDER =
  'a refresh token is newer than its grant: the database was restored from an older backup, or failed over to a ' +
  'node that lacked the last changes. The grant was revoked. See docs/operations.md, and run: bin/postern restored';

/** Concatenated rather than serialised: no part needs escaping, and this is the hottest response. */
function issueTokens(app: App, ref: GrantRef, scope: ScopeSet, now: number): HttpResponse {
  const { tokenSigner } = app.keys;
  const { accessTokenTtlMs } = app.config;
  const accessToken = tokenSigner.signAccessToken({ ...ref, expiresAt: now + accessTokenTtlMs, scope });
  const refreshToken = tokenSigner.signRefreshToken(ref);
  return jsonResponse(
    `{"access_token":"${accessToken}","refresh_token":"${refreshToken}","token_type":"Bearer",` +
      `"expires_in":${accessTokenTtlMs / 1000},"scope":"${formatScope(scope)}"}`,
    { ref },
  );
}
