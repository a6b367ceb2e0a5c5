import { formatScope, type ScopeSet } from './scope.ts';

/** The path and query of an authorization request (RFC 6749 4.1.1, RFC 7636 4.3). */
export function authorizePath(request: {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: ScopeSet;
  readonly state: string;
  readonly codeChallenge: string;
}): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    scope: formatScope(request.scope),
    state: request.state,
    code_challenge: request.codeChallenge,
    code_challenge_method: 'S256',
  });
  return `/oauth/authorize?${query}`;
}

/** Where an application sends its users, with placeholders for the values that must be new each time. */
export function exampleAuthorizeUrl(
  baseUrl: string,
  {
    clientId,
    redirectUris,
    scope,
  }: {
    readonly clientId: string;
    readonly redirectUris: readonly string[];
    readonly scope: ScopeSet;
  },
): string {
  const redirectUri = redirectUris[0]!;
  const path = authorizePath({
    clientId,
    redirectUri,
    scope,
    state: 'STATE',
    codeChallenge: 'CODE_CHALLENGE',
  });
  return baseUrl + path;
}
