import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { PLAYGROUND_PREFIX } from '../protocol/application.ts';
import { hashClientSecret } from '../protocol/client-secret.ts';
import { defaultScope, NO_SCOPE } from '../protocol/scope.ts';
import type { Application, NewApplication } from '../store/applications.ts';
import { DuplicateKey } from '../store/errors.ts';
import type { User } from '../store/users.ts';

export type PlaygroundApp = {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
};

/**
 * The playground's application of this developer, created on first use; undefined when the operator disabled it. Its
 * secret is derived from the service's key: the playground shows complete requests, although only hashes of secrets
 * are stored.
 *
 * Its client_id is always the same, so it is never deleted and created again while its owner exists: that would undo
 * the operator's decision and revive the grants of the earlier one (decision 024).
 */
export async function ensurePlaygroundApp(app: App, user: User): Promise<PlaygroundApp | undefined> {
  const clientId = PLAYGROUND_PREFIX + hash('sha256', user.id, 'hex').slice(0, 24);
  const clientSecret = `postern_cs_${app.keys.pageSigner.sign('playground secret', user.id)}`;
  const redirectUri = `${app.config.baseUrl}/dashboard/playground/callback`;
  const playground = { clientId, clientSecret, redirectUri };
  const existing = (await app.store.applications.find(clientId)) ?? (await create(app, user, playground));
  if (!existing) return undefined;
  if (!isCurrent(existing, playground))
    await app.store.applications.reset(newApplication(app, user, playground));
  const enabled = existing.disabledAt === null;
  return enabled || (await app.store.ownedApplications(user.id).enable(clientId, app.now()))
    ? playground
    : undefined;
}

/** Not after the base URL, the default scope or the service's key has changed. */
function isCurrent(application: Application, { clientSecret, redirectUri }: PlaygroundApp): boolean {
  const { name, homepageUrl, redirectUris, scope, optionalScope, secrets } = application;
  return (
    name === NAME &&
    homepageUrl === null &&
    redirectUris.length === 1 &&
    redirectUris[0] === redirectUri &&
    scope === defaultScope() &&
    optionalScope === NO_SCOPE &&
    secrets.length === 1 &&
    secrets[0]!.hash === hashClientSecret(clientSecret)
  );
}

const NAME = 'Playground';

const newApplication = (app: App, user: User, playground: PlaygroundApp): NewApplication => ({
  clientId: playground.clientId,
  ownerId: user.id,
  name: NAME,
  redirectUris: [playground.redirectUri],
  scope: defaultScope(),
  optionalScope: NO_SCOPE,
  secret: playground.clientSecret,
  now: app.now(),
});

/** Undefined when the account was deleted meanwhile: then the application goes as well. */
async function create(app: App, user: User, playground: PlaygroundApp): Promise<Application | undefined> {
  const { applications, users } = app.store;
  await applications.create(newApplication(app, user, playground)).catch((error) => {
    // Another tab created it at the same moment.
    if (!(error instanceof DuplicateKey)) throw error;
  });
  // Deleting an account deletes the user first and this application after it: whichever comes last sees the other.
  if (!(await users.find(user.id))) await applications.delete(playground.clientId);
  return applications.find(playground.clientId);
}
