import { requireUser, type UserRequest } from '../accounts/require-user.ts';
import type { App } from '../app.ts';
import { notFoundResponse } from '../http/error-pages.ts';
import { htmlResponse } from '../http/html-response.ts';
import type { Handler, HttpRequest } from '../http/request.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import { messagePage } from '../pages/message.ts';
import { isPlayground } from '../protocol/application.ts';
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

/** As `requireOwnedApp`, but not for the playground's application: its settings follow from the service's. */
export function requireEditableApp(
  handler: (app: App, request: OwnedAppRequest) => Promise<HttpResponse> | HttpResponse,
): Handler {
  return requireOwnedApp((app, request) =>
    isPlayground(request.application.clientId) ? playgroundIsFixed(request.http) : handler(app, request),
  );
}

function playgroundIsFixed({ method }: HttpRequest): HttpResponse {
  if (method === 'GET') return redirect('/dashboard/playground');
  const content = messagePage({
    title: 'The playground cannot be changed',
    paragraphs: ['Its application has fixed settings. Create an application of your own to try others.'],
    next: { path: '/dashboard/playground', label: 'Go to the playground' },
  });
  return htmlResponse(content, { status: 403 });
}

const pageOfForm = (http: HttpRequest): string =>
  applicationPath(encodeURIComponent(pathParameter(http, 'client_id')));

export const pathParameter = (http: HttpRequest, name: string): string => http.parameters[name] ?? '';

export const applicationPath = (clientId: string): string => `/dashboard/apps/${clientId}`;
