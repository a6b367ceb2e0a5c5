import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { PLAYGROUND_PREFIX } from '../protocol/application.ts';
import { hashClientSecret } from '../protocol/client-secret.ts';
import { defaultScope, NO_SCOPE } from '../protocol/scope.ts';
import type { User } from '../store/users.ts';

export type PlaygroundApp = {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
};

/**
 * The playground's application of this developer, created on first use. Its secret is derived from the service's
 * key: the playground shows complete requests, although only hashes of secrets are stored.
 */
export async function ensurePlaygroundApp(app: App, user: User): Promise<PlaygroundApp> {
  const clientId = PLAYGROUND_PREFIX + hash('sha256', user.id, 'hex').slice(0, 24);
  const clientSecret = `postern_cs_${app.keys.pageSigner.sign('playground secret', user.id)}`;
  const redirectUri = `${app.config.baseUrl}/dashboard/playground/callback`;
  const playground = { clientId, clientSecret, redirectUri };
  const existing = await app.store.applications.find(clientId);
  const secretHash = hashClientSecret(clientSecret);
  const current =
    existing?.redirectUris[0] === redirectUri &&
    existing.scope === defaultScope() &&
    existing.secrets.some(({ hash }) => hash === secretHash);
  if (current) return playground;
  // The base URL, the default scope or the service's key has changed.
  if (existing) await app.store.applications.delete(clientId);
  await create(app, user, playground);
  return playground;
}

async function create(app: App, user: User, playground: PlaygroundApp): Promise<void> {
  const { applications } = app.store;
  const { clientId, clientSecret, redirectUri } = playground;
  await applications
    .create({
      clientId,
      ownerId: user.id,
      name: 'Playground',
      redirectUris: [redirectUri],
      scope: defaultScope(),
      optionalScope: NO_SCOPE,
      secret: clientSecret,
      now: app.now(),
    })
    .catch(async (error) => {
      // Another tab created it at the same moment.
      if (!(await applications.find(clientId))) throw error;
    });
}
