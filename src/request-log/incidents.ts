import type { App } from '../app.ts';
import type { LogEntryDiagnostics } from '../http/response.ts';
import { incidentMail } from '../mail/mail-texts.ts';
import { isPlayground } from '../protocol/application.ts';
import type { Incident, Presentation } from '../store/incidents.ts';
import type { LogEntry } from '../store/request-log.ts';

/** A storm of incidents sends one mail. */
const MAIL_EVERY_MS = 3_600_000;

type RevokedGrant = NonNullable<LogEntryDiagnostics['revokedGrant']>;

/**
 * Takes down that a grant was revokedGrant, with what is known of its credentials' uses so far: the log they come
 * from is bounded, and the incident is to outlive it. It belongs to the application that had the grant,
 * whoever presented the credential; of another application nothing is told.
 */
export async function recordIncident(
  app: App,
  entry: LogEntry,
  { clientId, kind }: RevokedGrant,
): Promise<void> {
  const earlier = await app.store.requestLog.listByGrant(clientId, entry.grantTail!);
  const own = earlier.some(({ id }) => id === entry.id);
  const foreign = { ...presentationOf(entry), reason: 'by_another_application', address: '', userAgent: '' };
  const presentations = own ? earlier.map(presentationOf) : [...earlier.map(presentationOf), foreign];
  const { id, at, grantTail, generation } = entry;
  await app.store.incidents.record({
    clientId,
    id,
    at,
    kind,
    grantTail: grantTail!,
    generation: generation!,
    presentations,
  });
  await tellOwner(app, clientId, id);
}

export function presentationOf(entry: LogEntry): Presentation {
  const { id, at, endpoint, error, reason, generation, address, userAgent } = entry;
  return { id, at, endpoint, error, reason, generation, address, userAgent };
}

/** Only to an address that was authenticated, and not for what a developer tries out in the playground. */
async function tellOwner(app: App, clientId: string, id: Incident['id']): Promise<void> {
  if (isPlayground(clientId)) return;
  const now = app.now();
  const { count } = await app.store.counters.hit(`incident mail ${clientId}`, MAIL_EVERY_MS, now, now);
  if (count > 1) return;
  app.mailer.post('incident', async () => {
    const application = await app.store.applications.find(clientId);
    const owner = application && (await app.store.users.find(application.ownerId));
    if (!owner?.emailVerified || owner.disabledAt !== null) return undefined;
    return incidentMail(owner.email, app.config.baseUrl, clientId, id);
  });
}
