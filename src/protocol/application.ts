import { randomBytes } from 'node:crypto';
import { explainRedirectUriFault, redirectUriFault } from './redirect-uri.ts';
import { formatScope, type ScopeSet } from './scope.ts';

/** The rules for registering an application, the same on the dashboard and on the command line. */

export const MAX_REDIRECT_URIS = 20;

/** Live ones at a time: the one in use, and the one that is to take its place. */
export const MAX_SECRETS = 2;

export const newClientId = (): string => `app_${randomBytes(12).toString('hex')}`;

/** Every developer can have one application of the service's own making, to try things out with. */
export const PLAYGROUND_PREFIX = 'playground_';
export const isPlayground = (clientId: string): boolean => clientId.startsWith(PLAYGROUND_PREFIX);

/** What is wrong with a redirect URI, in words that follow its name, or undefined. */
export function redirectUriFaultInWords(uri: string): string | undefined {
  const fault = redirectUriFault(uri);
  return fault && explainRedirectUriFault(fault);
}

export function redirectUriCountFault(count: number): string | undefined {
  return count > MAX_REDIRECT_URIS
    ? `There are ${count} redirect URIs: an application can have at most ${MAX_REDIRECT_URIS}.`
    : undefined;
}

/** Where an application sends its users to begin, with placeholders for what must be fresh each time. */
export function exampleAuthorizeUrl(
  baseUrl: string,
  application: {
    readonly clientId: string;
    readonly redirectUris: readonly string[];
    readonly scope: ScopeSet;
  },
): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: application.clientId,
    redirect_uri: application.redirectUris[0]!,
    scope: formatScope(application.scope),
    state: 'STATE',
    code_challenge: 'CODE_CHALLENGE',
    code_challenge_method: 'S256',
  });
  return `${baseUrl}/oauth/authorize?${query}`;
}
