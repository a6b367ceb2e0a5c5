import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { PLAYGROUND_PREFIX } from '../protocol/application.ts';
import { hashClientSecret } from '../protocol/client-secret.ts';
import { NO_SCOPE, parseScope } from '../protocol/scope.ts';
import type { User } from '../store/users.ts';

/** A developer's own built-in application. */
export type PlaygroundApp = {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
};

/**
 * One for each developer, made when it is first needed. Its secret is derived from the service's own key,
 * so that the server can show whole requests although it keeps no secret.
 */
export async function playgroundApp(app: App, user: User): Promise<PlaygroundApp> {
  const clientId = PLAYGROUND_PREFIX + hash('sha256', user.id, 'hex').slice(0, 24);
  const clientSecret = `postern_cs_${app.keys.pageSigner.sign('playground secret', user.id)}`;
  const redirectUri = `${app.config.baseUrl}/dashboard/playground/callback`;
  const own = { clientId, clientSecret, redirectUri };
  const there = await app.store.applications.find(clientId);
  const secretHash = hashClientSecret(clientSecret);
  if (there?.redirectUris[0] === redirectUri && there.secrets.some(({ hash }) => hash === secretHash))
    return own;
  // Under another address or another key it is made anew.
  if (there) await app.store.applications.delete(clientId);
  await create(app, user, own);
  return own;
}

async function create(app: App, user: User, own: PlaygroundApp): Promise<void> {
  const { applications } = app.store;
  const { clientId, clientSecret, redirectUri } = own;
  await applications
    .create({
      clientId,
      ownerId: user.id,
      name: 'Playground',
      redirectUris: [redirectUri],
      scope: parseScope('profile email')!,
      optionalScope: NO_SCOPE,
      secret: clientSecret,
      now: app.now(),
    })
    .catch(async (error) => {
      // Another tab made it at the same moment.
      if (!(await applications.find(clientId))) throw error;
    });
}
