import type { App } from '../app.ts';
import type { AccessToken } from '../protocol/credentials.ts';
import type { AccessLogReason } from '../request-log/diagnostics.ts';
import type { AccessRead } from '../store/grants.ts';

type AccessTokenCheck =
  | (AccessRead & { readonly outcome: 'live'; readonly token: AccessToken })
  | { readonly outcome: 'refused'; readonly reason: AccessLogReason };

/** The state of an access token now. Userinfo and introspection share it, so that they always agree. */
export async function checkAccessToken(app: App, text: string): Promise<AccessTokenCheck> {
  const token = app.keys.tokenSigner.verifyAccessToken(text);
  if (!token) return refused('not_an_access_token');
  if (token.expiresAt <= app.now()) return refused('access_token_expired');
  const access = await app.store.grants.readAccess(token);
  if (access.outcome !== 'live') return refused('access_token_inactive');
  const application = await app.store.applications.find(access.clientId);
  if (application?.disabledAt !== null) return refused('application_disabled');
  return { ...access, token };
}

const refused = (reason: AccessLogReason): AccessTokenCheck => ({ outcome: 'refused', reason });
