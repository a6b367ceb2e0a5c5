import { requireUser, type UserRequest } from '../accounts/require-user.ts';
import { htmlResponse } from '../http/html-response.ts';
import { type HttpResponse, redirect, withHeaders } from '../http/response.ts';
import { type NewApplicationProps, newApplicationPage } from '../pages/new-application.ts';
import { newSecretPage } from '../pages/new-secret.ts';
import { newClientId } from '../protocol/application.ts';
import { newClientSecret } from '../protocol/client-secret.ts';
import { newId } from '../protocol/credentials.ts';
import type { SqlOwnedApplications } from '../store/owned-applications.ts';
import { BLANK, readApplicationForm } from './application-form.ts';
import { CreationLimit } from './creation-limit.ts';
import { applicationPath, isId } from './require-owned-app.ts';

/** GET /dashboard/apps/new */
export const showNewApplication = requireUser((_app, { frame }) =>
  htmlResponse(newApplicationPage({ frame, formId: newId(), input: BLANK })),
);

/**
 * POST /dashboard/apps/new. The response itself shows the secret, so that it is neither stored nor in a URL. A reload
 * posts the form again: its id leads to the application that it created.
 */
export const createApplication = requireUser(
  async (app, request) => {
    const { user, form, frame } = request;
    const applications = app.store.ownedApplications(user.id);
    const formId = formIdOf(form);
    const createdId = await applications.createdBy(formId);
    if (createdId !== undefined) return redirectToCreated(applications, createdId);

    const read = readApplicationForm(form, BLANK);
    const formAgain = (props: Partial<NewApplicationProps>, status: number) =>
      htmlResponse(newApplicationPage({ frame, formId, input: read.input, ...props }), { status });
    if ('errors' in read) return formAgain({ errors: read.errors }, 400);

    const now = app.now();
    const limit = new CreationLimit(app, user.id);
    const nextAt = await limit.count(now);
    if (nextAt !== undefined) {
      const minutes = Math.ceil((nextAt - now) / 60_000);
      const response = formAgain({ limit: { max: app.config.appCreationLimit, nextAt, minutes } }, 429);
      return withHeaders(response, { 'retry-after': String(Math.ceil((nextAt - now) / 1000)) });
    }
    const application = { ...read.changes, clientId: newClientId(), secret: newClientSecret(), now };
    return create(applications, request, limit, application, formId);
  },
  () => '/dashboard/apps/new',
);

async function create(
  applications: SqlOwnedApplications,
  { frame }: UserRequest,
  limit: CreationLimit,
  application: Parameters<SqlOwnedApplications['create']>[0],
  formId: string,
): Promise<HttpResponse> {
  const result = await applications.create(application, formId).catch(async (error) => {
    await limit.refund();
    throw error;
  });
  if (result.outcome === 'repeated') {
    await limit.refund();
    return redirectToCreated(applications, result.clientId);
  }
  const { clientId, name, secret } = application;
  return htmlResponse(newSecretPage({ frame, clientId, name, secret, created: true }), {
    diagnostics: { clientId },
  });
}

async function redirectToCreated(
  applications: SqlOwnedApplications,
  clientId: string,
): Promise<HttpResponse> {
  const exists = await applications.find(clientId);
  return redirect(exists ? `${applicationPath(clientId)}?done=created` : '/dashboard');
}

function formIdOf(form: ReadonlyMap<string, string>): string {
  const sent = form.get('form_id') ?? '';
  return isId(sent) ? sent : newId();
}
