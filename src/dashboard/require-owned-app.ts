import { requireUser, type UserRequest } from '../accounts/require-user.ts';
import type { App } from '../app.ts';
import { htmlResponse } from '../http/html-response.ts';
import type { HttpRequest } from '../http/request.ts';
import type { HttpResponse } from '../http/response.ts';
import { messagePage } from '../pages/message.ts';
import { NOT_FOUND } from '../protocol/errors.ts';
import type { Application } from '../store/applications.ts';
import type { SqlOwnedApplications } from '../store/owned-applications.ts';

/** A request of an application's owner, about that application. */
export type OwnedAppRequest = UserRequest & {
  readonly application: Application;
  readonly applications: SqlOwnedApplications;
};

/** Every id in an address of the dashboard looks like this; anything else is not worth a question to the database. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;

export const isId = (text: string): boolean => ID.test(text);

/** The door to an application's pages. For everybody but its owner there is nothing behind it. */
export function requireOwnedApp(
  handler: (app: App, request: OwnedAppRequest) => Promise<HttpResponse> | HttpResponse,
) {
  return requireUser(async (app, request) => {
    const clientId = parameter(request.http, 'client_id');
    const applications = app.store.ownedApplications(request.user.id);
    const application = isId(clientId) ? await applications.find(clientId) : undefined;
    if (!application) return notFound();
    return handler(app, { ...request, application, applications });
  }, pageOfForm);
}

/** Whoever sent a form and was signed out meanwhile comes back to the page of the application. */
const pageOfForm = (http: HttpRequest): string =>
  applicationPath(encodeURIComponent(parameter(http, 'client_id')));

export const parameter = (http: HttpRequest, name: string): string => http.parameters[name] ?? '';

export const applicationPath = (clientId: string): string => `/dashboard/apps/${clientId}`;

export function notFound(): HttpResponse {
  return htmlResponse(messagePage({ title: 'Page not found', paragraphs: [NOT_FOUND] }), { status: 404 });
}
