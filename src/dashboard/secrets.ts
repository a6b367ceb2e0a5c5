import { notFoundResponse } from '../http/error-pages.ts';
import { htmlResponse } from '../http/html-response.ts';
import { newSecretPage } from '../pages/new-secret.ts';
import { removeSecretPage } from '../pages/remove-secret.ts';
import { newClientSecret } from '../protocol/client-secret.ts';
import { newId } from '../protocol/credentials.ts';
import { applicationResponse, redirectToApplication } from './application.ts';
import { isId, type OwnedAppRequest, pathParameter, requireEditableApp } from './require-owned-app.ts';
import { secretViews } from './secret-view.ts';

/** POST /dashboard/apps/:client_id/secrets. The response itself shows the secret, as for a new application. */
export const addSecret = requireEditableApp(async (app, request) => {
  const { application, applications, form, frame } = request;
  const { clientId, name } = application;
  const secret = newClientSecret();
  const sentId = form.get('secret_id') ?? '';
  const id = isId(sentId) ? sentId : newId();
  switch (await applications.addSecret(clientId, { id, secret, now: app.now() })) {
    case 'added':
      return htmlResponse(newSecretPage({ frame, clientId, name, secret, created: false }), {
        diagnostics: { clientId, reason: 'secret_added' },
      });
    case 'repeated':
      return redirectToApplication(clientId, 'secret_shown');
    case 'too_many':
      return applicationResponse(app, request, { refused: TOO_MANY }, 409);
    case 'unknown':
      return notFoundResponse();
  }
});

const TOO_MANY = 'No secret was made: two are live already. Remove one of them first.';
const LAST = 'The secret was not removed: an application needs one that lasts. Make a new one first.';

/** GET /dashboard/apps/:client_id/secrets/:secret_id/remove */
export const confirmSecretRemoval = requireEditableApp((app, request) => {
  const { application, frame } = request;
  const { clientId, name } = application;
  const now = app.now();
  const secret = secretViews(application, now).find(({ id }) => id === secretIdOf(request));
  if (!secret) return notFoundResponse();
  if (!secret.removable) return applicationResponse(app, request, { refused: LAST }, 409);
  return htmlResponse(removeSecretPage({ frame, clientId, name, secret, now }));
});

/** POST /dashboard/apps/:client_id/secrets/:secret_id/remove */
export const removeSecret = requireEditableApp(async (app, request) => {
  const { application, applications } = request;
  const id = secretIdOf(request);
  switch (isId(id) ? await applications.removeSecret(application.clientId, id, app.now()) : 'unknown') {
    case 'removed':
      return redirectToApplication(application.clientId, 'secret_removed');
    case 'last':
      return applicationResponse(app, request, { refused: LAST }, 409);
    case 'unknown':
      return notFoundResponse();
  }
});

const secretIdOf = ({ http }: OwnedAppRequest): string => pathParameter(http, 'secret_id');
