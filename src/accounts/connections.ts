import type { App } from '../app.ts';
import { htmlResponse } from '../http/html-response.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import { type ConnectedApplication, connectionsPage, disconnectPage } from '../pages/connections.ts';
import { param } from '../protocol/parameters.ts';
import type { Application } from '../store/applications.ts';
import { notFoundInAccount } from './account.ts';
import { requireUser, type UserRequest } from './require-user.ts';
import { recordEvent } from './security-events.ts';

async function listConnections(app: App, userId: string): Promise<ConnectedApplication[]> {
  const now = app.now();
  const connections = await app.store.grants.connections(userId, now, now - app.config.accessTokenTtlMs);
  return Promise.all(
    connections.map(async (connection) => {
      const application = await app.store.applications.find(connection.clientId);
      return { ...connection, name: application?.name, site: application && siteOf(application) };
    }),
  );
}

/** The host of its redirect URI, which every authorization request is checked against; nobody checks its home page. */
const siteOf = ({ redirectUris }: Application): string => new URL(redirectUris[0]!).host;

const clientIdOf = ({ http }: UserRequest): string => http.parameters.client_id!;

export const showConnections = requireUser(async (app, { user, frame, browser, http }) => {
  const done = param(http.query, 'done');
  const content = connectionsPage({
    frame,
    connections: await listConnections(app, user.id),
    done,
    now: app.now(),
  });
  return htmlResponse(content, { headers: browser.headers() });
});

export const showDisconnect = requireUser(async (app, request): Promise<HttpResponse> => {
  const clientId = clientIdOf(request);
  const connection = (await listConnections(app, request.user.id)).find(
    (candidate) => candidate.clientId === clientId,
  );
  if (!connection) return notFoundInAccount();
  return htmlResponse(disconnectPage({ frame: request.frame, connection, now: app.now() }), {
    headers: request.browser.headers(),
  });
});

export const disconnect = requireUser(
  async (app, request) => {
    const { user, http } = request;
    const clientId = clientIdOf(request);
    const revoked = await app.store.grants.disconnect(user.id, clientId, app.now());
    if (revoked === 0) return notFoundInAccount();
    app.metrics?.grantRevoked('disconnected_by_user', revoked);
    await recordEvent(app, http, user.id, 'disconnected', { clientId });
    return redirect('/account/connections?done=disconnected');
  },
  () => '/account/connections',
);
