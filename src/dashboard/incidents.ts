import { page } from '../page-answer.ts';
import { incidentPage, incidentsPage } from '../pages/incidents.ts';
import { presentationOf } from '../request-log/incidents.ts';
import { RequestLog } from '../request-log/request-log.ts';
import { isId, notFound, owned, parameter } from './owned.ts';
import { titleOf } from './reasons.ts';
import { verdictOf } from './verdict.ts';

const MOST_SHOWN = 100;

/** GET /dashboard/apps/:client_id/incidents */
export const showIncidents = owned(async (app, { application, frame }) => {
  const { clientId, name } = application;
  await RequestLog.of(app).flush();
  const incidents = await app.store.requestLog.incidents(clientId, MOST_SHOWN);
  const judged = incidents.map((incident) => ({ ...incident, verdict: verdictOf(incident) }));
  return page(incidentsPage({ frame, clientId, name, incidents: judged }));
});

/** GET /dashboard/apps/:client_id/incidents/:id. What came after the cut is still in the log, if at all. */
export const showIncident = owned(async (app, { http, application, frame }) => {
  const { clientId, name } = application;
  const id = parameter(http, 'id');
  await RequestLog.of(app).flush();
  const incident = isId(id) ? await app.store.requestLog.incident(clientId, id) : undefined;
  if (!incident) return notFound();
  const later = (await app.store.requestLog.session(clientId, incident.session))
    .map(presentationOf)
    .filter((one) => !incident.presentations.some((known) => known.id === one.id));
  const timeline = [...incident.presentations, ...later]
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((one) => ({ ...one, title: titleOf(one) }));
  return page(incidentPage({ frame, clientId, name, incident, timeline, verdict: verdictOf(incident) }));
});
