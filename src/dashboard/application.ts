import type { App } from '../app.ts';
import { notFoundResponse } from '../http/error-pages.ts';
import { htmlResponse } from '../http/html-response.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import { type ApplicationProps, applicationPage } from '../pages/application.ts';
import { nearLimitNotice } from '../pages/usage.ts';
import { exampleAuthorizeUrl } from '../protocol/authorize-url.ts';
import { newId } from '../protocol/credentials.ts';
import { formatScope } from '../protocol/scope.ts';
import type { AccessLogReason } from '../request-log/diagnostics.ts';
import { inputOf, readApplicationForm } from './application-form.ts';
import { applicationPath, type OwnedAppRequest, requireEditableApp } from './require-owned-app.ts';
import { secretViews } from './secret-view.ts';
import { peakNearLimit } from './usage.ts';

/** Fixed texts by a key in the query: nothing from the address reaches the page. */
const DONE = new Map([
  ['saved', 'Saved. The changes are in effect.'],
  ['enabled', 'The application is enabled.'],
  [
    'created',
    'The application was created by this form before. Its secret was shown then; if you missed it, make a new one.',
  ],
  ['secret_shown', 'This secret was made and shown before. If you missed it, remove it and make another.'],
  ['secret_removed', 'The secret is removed. Requests with it are refused.'],
]);

/** GET /dashboard/apps/:client_id */
export const showApplication = requireEditableApp(async (app, request) => {
  const done = DONE.get(request.http.query.get('done') ?? '');
  const peak = await peakNearLimit(app, request.application);
  const limit = app.clientLimits.limitOf(request.application);
  const limitNotice = peak === undefined ? undefined : nearLimitNotice(peak, limit);
  return applicationResponse(app, request, { done, limitNotice });
});

/** POST /dashboard/apps/:client_id */
export const saveApplication = requireEditableApp(async (app, request) => {
  const { form, application, applications } = request;
  const read = readApplicationForm(form, inputOf(application));
  if ('errors' in read) return applicationResponse(app, request, read, 400);
  const saved = await applications.edit(application.clientId, read.changes, app.now());
  return saved ? redirectToApplication(application.clientId, 'saved') : notFoundResponse();
});

/** POST /dashboard/apps/:client_id/disable. Idempotent. */
export const disableApplication = requireEditableApp(async (app, { application, applications }) => {
  await applications.disable(application.clientId, app.now());
  return redirectToApplication(application.clientId, 'disabled');
});

/** POST /dashboard/apps/:client_id/enable */
export const enableApplication = requireEditableApp(async (app, request) => {
  const { application, applications } = request;
  const enabled = await applications.enable(application.clientId, app.now());
  if (enabled || application.disabledBy === null)
    return redirectToApplication(application.clientId, 'enabled');
  return applicationResponse(app, request, {}, 409);
});

export function redirectToApplication(clientId: string, done: AccessLogReason): HttpResponse {
  return redirect(`${applicationPath(clientId)}?done=${done}`, { clientId, reason: done });
}

export function applicationResponse(
  app: App,
  { application, frame }: OwnedAppRequest,
  props: Partial<ApplicationProps>,
  status = 200,
): HttpResponse {
  const { baseUrl } = app.config;
  const now = app.now();
  const content = applicationPage({
    frame,
    clientId: application.clientId,
    name: application.name,
    createdAt: application.createdAt,
    disabledBy: application.disabledAt === null ? null : (application.disabledBy ?? 'operator'),
    input: inputOf(application),
    secrets: secretViews(application, now),
    newSecretId: newId(),
    endpoints: [
      ['Authorize', `${baseUrl}/oauth/authorize`],
      ['Token', `${baseUrl}/oauth/token`],
      ['Userinfo', `${baseUrl}/oauth/userinfo`],
      ['Revoke', `${baseUrl}/oauth/revoke`],
      ['Metadata', `${baseUrl}/.well-known/oauth-authorization-server`],
    ],
    exampleUrl: exampleAuthorizeUrl(baseUrl, application),
    quickStart: {
      baseUrl,
      clientId: application.clientId,
      redirectUri: application.redirectUris[0]!,
      scope: formatScope(application.scope),
    },
    now,
    ...props,
  });
  return htmlResponse(content, { status });
}
