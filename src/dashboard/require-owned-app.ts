import { requireUser, type UserRequest } from '../accounts/require-user.ts';
import type { App } from '../app.ts';
import { notFoundResponse } from '../http/error-pages.ts';
import type { Handler, HttpRequest } from '../http/request.ts';
import type { HttpResponse } from '../http/response.ts';
import type { Application } from '../store/applications.ts';
import type { SqlOwnedApplications } from '../store/owned-applications.ts';

/** A request of an application's owner, about that application. */
export type OwnedAppRequest = UserRequest & {
  readonly application: Application;
  readonly applications: SqlOwnedApplications;
};

/** Every id in a path of the dashboard; anything else is refused without a query. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;

export const isId = (text: string): boolean => ID.test(text);

/** As `requireUser`, and only for the owner of the application in the path (else 404). */
export function requireOwnedApp(
  handler: (app: App, request: OwnedAppRequest) => Promise<HttpResponse> | HttpResponse,
): Handler {
  return requireUser(async (app, request) => {
    const clientId = pathParameter(request.http, 'client_id');
    const applications = app.store.ownedApplications(request.user.id);
    const application = isId(clientId) ? await applications.find(clientId) : undefined;
    if (!application) return notFoundResponse();
    return handler(app, { ...request, application, applications });
  }, pageOfForm);
}

const pageOfForm = (http: HttpRequest): string =>
  applicationPath(encodeURIComponent(pathParameter(http, 'client_id')));

export const pathParameter = (http: HttpRequest, name: string): string => http.parameters[name] ?? '';

export const applicationPath = (clientId: string): string => `/dashboard/apps/${clientId}`;
