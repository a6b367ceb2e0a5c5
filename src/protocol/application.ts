import { randomBytes } from 'node:crypto';

/** Rules for applications, the same on the dashboard and on the command line. */

export const MAX_REDIRECT_URIS = 20;

/** Live secrets: the one in use, and its successor while a client changes over. */
export const MAX_SECRETS = 2;

export const newClientId = (): string => `app_${randomBytes(12).toString('hex')}`;

/** Each developer's built-in application for the playground. */
export const PLAYGROUND_PREFIX = 'playground_';
export const isPlayground = (clientId: string): boolean => clientId.startsWith(PLAYGROUND_PREFIX);

export function redirectUriCountFault(count: number): string | undefined {
  return count > MAX_REDIRECT_URIS
    ? `There are ${count} redirect URIs: an application can have at most ${MAX_REDIRECT_URIS}.`
    : undefined;
}
