import { Browser } from '../accounts/browser.ts';
import { loginPath } from '../accounts/return-to.ts';
import type { App } from '../app.ts';
import { notFoundResponse } from '../http/error-pages.ts';
import { htmlResponse } from '../http/html-response.ts';
import type { HttpRequest } from '../http/request.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import { messagePage } from '../pages/message.ts';
import { requestPage } from '../pages/request.ts';
import { CHOICES, requestsPage } from '../pages/requests.ts';
import type { LogEntry, LogFilter } from '../store/request-log.ts';
import type { User } from '../store/users.ts';
import { explain, remarkOn, titleOf } from './failure-explanations.ts';
import { applicationPath, isId, pathParameter, requireOwnedApp } from './require-owned-app.ts';

const PAGE = 50;
const HOUR_MS = 3_600_000;
const SPANS: Readonly<Record<string, number>> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
};

type Chosen = Readonly<Record<keyof typeof CHOICES, string>>;

/** GET /dashboard/apps/:client_id/requests */
export const showRequests = requireOwnedApp(async (app, { http, application, frame }) => {
  const { clientId, name } = application;
  const query = http.query;
  const chosen = choices(query);
  const before = query.get('before') ?? '';
  await app.requestLog.flushForReader();
  const found = await app.store.requestLog.list(
    clientId,
    { ...filterOf(chosen, app.now()), ...(isId(before) && { before }) },
    PAGE + 1,
  );
  const entries = found.slice(0, PAGE).map((entry) => ({ ...entry, title: titleOf(entry.reason) }));
  const address = (more: Record<string, string>) =>
    `${applicationPath(clientId)}/requests?${new URLSearchParams({ ...chosen, ...more })}`;
  const content = requestsPage({
    frame,
    clientId,
    name,
    entries,
    chosen,
    filtered: Object.values(chosen).some((choice) => choice !== ''),
    older: found.length > PAGE ? address({ before: entries.at(-1)!.id }) : undefined,
    newest: isId(before) ? address({}) : undefined,
  });
  return htmlResponse(content);
});

/** A value that the form does not offer is ignored. */
function choices(query: ReadonlyMap<string, string>): Chosen {
  const choice = (name: keyof typeof CHOICES) =>
    CHOICES[name].find(([value]) => value === query.get(name))?.[0] ?? '';
  return { outcome: choice('outcome'), endpoint: choice('endpoint'), time: choice('time') };
}

function filterOf({ outcome, endpoint, time }: Chosen, now: number): LogFilter {
  const span = SPANS[time];
  return {
    outcome: (outcome || undefined) as LogFilter['outcome'],
    endpoint: (endpoint || undefined) as LogFilter['endpoint'],
    since: span && now - span,
  };
}

/** GET /dashboard/apps/:client_id/requests/:id */
export const showRequest = requireOwnedApp(async (app, { http, application, frame }) => {
  const { clientId, name } = application;
  const id = pathParameter(http, 'id');
  await app.requestLog.flushForReader();
  const log = app.store.requestLog;
  const entry = isId(id) ? await log.find(clientId, id) : undefined;
  if (!entry) return notFoundResponse();
  const [earlier, incident] = await Promise.all([
    firstUse(app, entry),
    app.store.incidents.find(clientId, id),
  ]);
  const props = {
    entry,
    title: titleOf(entry.reason),
    explanation: explain(entry, earlier),
    remark: remarkOn(entry),
    incident: incident?.id,
  };
  return htmlResponse(requestPage({ frame, clientId, name, ...props }));
});

/** The earlier success that used the same code or refresh token. */
async function firstUse(app: App, entry: LogEntry): Promise<LogEntry | undefined> {
  if (entry.grantTail === null || entry.error === '') return undefined;
  const all = await app.store.requestLog.listByGrant(entry.clientId, entry.grantTail);
  return all.find(
    (other) =>
      other.endpoint === 'token' &&
      other.error === '' &&
      other.generation === entry.generation &&
      other.id < entry.id,
  );
}

/**
 * GET /errors/:id, the `error_uri` of error responses: leads the application's owner to the log entry. Everybody else
 * sees the same page, whether the entry exists or not.
 */
export async function showError(app: App, http: HttpRequest): Promise<HttpResponse> {
  const id = pathParameter(http, 'id');
  const user = await new Browser(app, http).user();
  const clientId = user && isId(id) ? await findClientId(app, user, id) : undefined;
  if (clientId !== undefined) return redirect(`${applicationPath(clientId)}/requests/${id}`);
  const content = messagePage({
    title: 'Nothing to see here',
    paragraphs: [
      'The developer of an application reads here why a request of it failed, for 30 days. To everybody else this page looks the same, whether there is such a request or not.',
    ],
    ...(!user && { next: { path: loginPath(http.url.split('?', 1)[0]!), label: 'Sign in' } }),
  });
  return htmlResponse(content, { status: 404 });
}

/** Flushes for signed-in users only: a stranger must not be able to force writes. */
async function findClientId(app: App, user: User, entryId: string): Promise<string | undefined> {
  await app.requestLog.flushForReader();
  return app.store.requestLog.findClientId(user.id, entryId);
}
