import type { App } from '../app.ts';
import { notFoundResponse } from '../http/error-pages.ts';
import { htmlResponse } from '../http/html-response.ts';
import { incidentPage, incidentsPage } from '../pages/incidents.ts';
import { presentationOf } from '../request-log/incidents.ts';
import type { Incident } from '../store/incidents.ts';
import { titleOf } from './failure-explanations.ts';
import { diagnose, firstUse } from './incident-diagnosis.ts';
import { isId, pathParameter, requireOwnedApp } from './require-owned-app.ts';

const MAX_SHOWN = 100;

/** GET /dashboard/apps/:client_id/incidents */
export const showIncidents = requireOwnedApp(async (app, { application, frame }) => {
  const { clientId, name } = application;
  await app.requestLog.flushForReader();
  const incidents = await app.store.incidents.list(clientId, MAX_SHOWN);
  const judged = await Promise.all(
    incidents.map(async (incident) => {
      const known = firstUse(incident) ? incident : await withLaterUses(app, incident);
      return { ...incident, diagnosis: diagnose(known) };
    }),
  );
  return htmlResponse(incidentsPage({ frame, clientId, name, incidents: judged }));
});

/** GET /dashboard/apps/:client_id/incidents/:id. Uses after the revocation are in the request log only. */
export const showIncident = requireOwnedApp(async (app, { http, application, frame }) => {
  const { clientId, name } = application;
  const id = pathParameter(http, 'id');
  await app.requestLog.flushForReader();
  const incident = isId(id) ? await app.store.incidents.find(clientId, id) : undefined;
  if (!incident) return notFoundResponse();
  const known = await withLaterUses(app, incident);
  const timeline = known.presentations.map((one) => ({ ...one, title: titleOf(one.reason) }));
  return htmlResponse(
    incidentPage({ frame, clientId, name, incident, timeline, diagnosis: diagnose(known) }),
  );
});

/** The incident with uses that were written to the request log since, by this node or another. */
async function withLaterUses(app: App, incident: Incident): Promise<Incident> {
  const { clientId, grantTail, presentations } = incident;
  const later = (await app.store.requestLog.listByGrant(clientId, grantTail))
    .map(presentationOf)
    .filter((one) => !presentations.some((known) => known.id === one.id));
  const all = [...presentations, ...later].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return { ...incident, presentations: all };
}
