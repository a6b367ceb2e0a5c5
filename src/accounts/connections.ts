import { type Answer, redirect } from '../answer.ts';
import type { App } from '../app.ts';
import { queryOf } from '../form.ts';
import { page } from '../page-answer.ts';
import { type ConnectedApplication, connectionsPage, disconnectPage } from '../pages/connections.ts';
import { given } from '../protocol/parameters.ts';
import type { Application } from '../store/store.ts';
import { nothingThere } from './account.ts';
import { recordEvent } from './security-log.ts';
import { type SignedInRequest, signedIn } from './signed-in.ts';

async function connected(app: App, userId: string): Promise<ConnectedApplication[]> {
  const now = app.now();
  const connections = await app.store.grants.connections(userId, now, now - app.config.accessTokenTtl);
  return Promise.all(
    connections.map(async (connection) => {
      const application = await app.store.applications.find(connection.clientId);
      return { ...connection, name: application?.name, site: application && siteOf(application) };
    }),
  );
}

/** Where it sends people back to: that much of an application is checked. Its home page is what it says of itself. */
const siteOf = ({ redirectUris }: Application): string => new URL(redirectUris[0]!).host;

const clientIdOf = ({ http }: SignedInRequest): string => http.parameters.client_id!;

export const showConnections = signedIn(async (app, { user, frame, browser, http }) => {
  const done = given(queryOf(http), 'done');
  const content = connectionsPage({
    frame,
    connections: await connected(app, user.id),
    done,
    now: app.now(),
  });
  return page(content, { headers: browser.headers() });
});

/** The confirmation. Only what is connected can be disconnected. */
export const showDisconnect = signedIn(async (app, request): Promise<Answer> => {
  const clientId = clientIdOf(request);
  const connection = (await connected(app, request.user.id)).find((one) => one.clientId === clientId);
  if (!connection) return nothingThere();
  return page(disconnectPage({ frame: request.frame, connection, now: app.now() }), {
    headers: request.browser.headers(),
  });
});

export const disconnect = signedIn(
  async (app, request) => {
    const { user, http } = request;
    const clientId = clientIdOf(request);
    const ended = await app.store.grants.disconnect(user.id, clientId, app.now());
    if (ended === 0) return nothingThere();
    app.metrics?.grantCut('disconnected_by_user', ended);
    await recordEvent(app, http, user.id, 'disconnected', { clientId });
    return redirect('/account/connections?done=disconnected');
  },
  () => '/account/connections',
);
