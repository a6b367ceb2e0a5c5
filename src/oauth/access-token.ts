import type { App } from '../app.ts';
import type { AccessToken } from '../protocol/credentials.ts';
import type { AccessRead } from '../store/grants.ts';

export type AccessTokenCheck =
  | (AccessRead & { readonly outcome: 'live'; readonly token: AccessToken })
  | { readonly outcome: 'refused'; readonly reason: string };

/** What an access token is worth at this moment. Whoever asks, and for whatever purpose, it is the same. */
export async function checkAccessToken(app: App, text: string): Promise<AccessTokenCheck> {
  const token = app.keys.tokenSigner.verifyAccessToken(text);
  if (!token) return refused('not_an_access_token');
  if (token.expiresAt <= app.now()) return refused('expired');
  const access = await app.store.grants.readAccess(token);
  if (access.outcome !== 'live') return refused('ended');
  const application = await app.store.applications.find(access.clientId);
  if (application?.disabledAt !== null) return refused('application_disabled');
  return { ...access, token };
}

const refused = (reason: string): AccessTokenCheck => ({ outcome: 'refused', reason });
