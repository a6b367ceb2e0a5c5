import type { App } from '../app.ts';
import { notFoundResponse } from '../http/error-pages.ts';
import { htmlResponse } from '../http/html-response.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import { type AccountFaults, type AccountProps, accountPage } from '../pages/account.ts';
import { param } from '../protocol/parameters.ts';
import type { ProfileInput } from '../protocol/profile.ts';
import type { SecurityEvent } from '../store/security-events.ts';
import { profileChanges, profileFaults, profileInput, readProfile } from './profile.ts';
import { requireUser, type UserRequest } from './require-user.ts';
import { recordEvent } from './security-events.ts';

const MAX_EVENTS = 20;

export const toAccount = (): string => '/account';

export const showAccount = requireUser((app, request) =>
  accountResponse(app, request, { done: param(request.http.query, 'done') }),
);

type Shown = Pick<AccountProps, 'done'> & {
  readonly faults?: AccountFaults;
  readonly profile?: ProfileInput;
  readonly newEmail?: string;
  readonly status?: number;
};

/** The account page, after a refused form with its faults and what was typed. */
export async function accountResponse(app: App, request: UserRequest, shown: Shown): Promise<HttpResponse> {
  const { user, browser, frame } = request;
  const [sessions, events] = await Promise.all([
    app.store.sessions.list(user.id, app.now()),
    app.store.securityEvents.list(user.id, MAX_EVENTS),
  ]);
  const content = accountPage({
    frame,
    user,
    profile: shown.profile ?? profileInput(user),
    newEmail: shown.newEmail ?? '',
    sessions: sessions.map((session) => ({ ...session, current: session.idHash === browser.sessionHash })),
    events,
    applicationNames: await applicationNames(app, events),
    faults: shown.faults ?? {},
    done: shown.done,
    now: app.now(),
  });
  return htmlResponse(content, { status: shown.status ?? 200, headers: browser.headers() });
}

async function applicationNames(
  app: App,
  events: readonly SecurityEvent[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(events.flatMap(({ clientId }) => clientId ?? []));
  const applications = await Promise.all([...ids].map((id) => app.store.applications.find(id)));
  return new Map(
    applications.flatMap((application) => (application ? [[application.clientId, application.name]] : [])),
  );
}

export const changeProfile = requireUser(async (app, request) => {
  const profile = readProfile(request.form);
  const faults = profileFaults(profile);
  if (Object.keys(faults).length > 0)
    return accountResponse(app, request, { faults: { profile: faults }, profile, status: 400 });
  await app.store.users.changeProfile(request.user.id, profileChanges(profile), app.now());
  return redirect('/account?done=profile');
}, toAccount);

export const endSession = requireUser(async (app, request) => {
  const { form, user, http, browser } = request;
  const session = param(form, 'session') ?? '';
  if (!(await app.store.sessions.endOf(user.id, session))) return notFoundInAccount();
  await recordEvent(app, http, user.id, 'session_ended');
  return redirect(session === browser.sessionHash ? '/login' : '/account?done=session');
}, toAccount);

export const endOtherSessions = requireUser(async (app, { user, http, browser }) => {
  const ended = await app.store.sessions.endOthers(user.id, browser.sessionHash);
  if (ended > 0) await recordEvent(app, http, user.id, 'session_ended');
  return redirect('/account?done=sessions');
}, toAccount);

export const notFoundInAccount = (): HttpResponse =>
  notFoundResponse({
    title: 'Nothing here',
    paragraphs: ['There is nothing at this address, or it is not yours.'],
    next: { path: '/account', label: 'Go to your account' },
  });
