import type { App } from '../app.ts';
import type { AccessCredential } from '../protocol/credentials.ts';
import type { AccessRead } from '../store/store.ts';

export type LiveAccess =
  | (AccessRead & { readonly outcome: 'live'; readonly token: AccessCredential })
  | { readonly outcome: 'refused'; readonly reason: string };

/** What an access token is worth at this moment. Whoever asks, and for whatever purpose, it is the same. */
export async function liveAccess(app: App, text: string): Promise<LiveAccess> {
  const token = app.keys.sealer.openAccessToken(text);
  if (!token) return refused('not_an_access_token');
  if (token.expiresAt <= app.now()) return refused('expired');
  const access = await app.store.grants.readAccess(token);
  if (access.outcome !== 'live') return refused('ended');
  const application = await app.store.applications.find(access.clientId);
  if (application?.disabledAt !== null) return refused('application_disabled');
  return { ...access, token };
}

const refused = (reason: string): LiveAccess => ({ outcome: 'refused', reason });
