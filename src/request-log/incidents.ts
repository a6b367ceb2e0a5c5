import { incidentMail } from '../mail/mail-texts.ts';
import type { Mailer } from '../mail/mailer.ts';
import { isPlayground } from '../protocol/application.ts';
import type { Limit } from '../protocol/rate-window.ts';
import type { Presentation } from '../store/incidents.ts';
import type { LogEntry } from '../store/request-log.ts';
import type { Store } from '../store/store.ts';
import type { RevokedGrant } from './diagnostics.ts';

/** Per application: a storm of incidents sends one mail. */
const MAILS: Limit = { name: 'incident mail', windowMs: 3_600_000, max: 1 };

export type IncidentDependencies = {
  readonly store: Store;
  readonly mailer: Mailer;
  readonly baseUrl: string;
  readonly now: () => number;
};

/**
 * Records that a grant was revoked because a credential was presented twice, with the uses known so far: the log they
 * come from is bounded, and the incident must outlive it. It belongs to the application that had the grant, whoever
 * presented the credential. Nothing is disclosed of another application.
 */
export async function recordIncident(
  dependencies: IncidentDependencies,
  entry: LogEntry,
  { clientId, kind }: RevokedGrant,
): Promise<void> {
  const { requestLog, incidents } = dependencies.store;
  const { id, at, grantTail, generation } = entry;
  const uses = await requestLog.listByGrant(clientId, grantTail!);
  const presentations = uses.filter((use) => use.id !== id).map(presentationOf);
  const presented = presentationOf(entry);
  presentations.push(entry.clientId === clientId ? presented : disclosedOf(presented));
  await incidents.record({
    clientId,
    id,
    at,
    kind,
    grantTail: grantTail!,
    generation: generation!,
    presentations,
  });
  await mailOwner(dependencies, clientId, id);
}

/** A use by another application, as the grant's own application may see it. */
const disclosedOf = (presentation: Presentation): Presentation => ({
  ...presentation,
  reason: 'by_another_application',
  address: '',
  userAgent: '',
});

export function presentationOf(entry: LogEntry): Presentation {
  const { id, at, endpoint, error, reason, generation, address, userAgent } = entry;
  return { id, at, endpoint, error, reason, generation, address, userAgent };
}

/** Only to a confirmed address, and not for a developer's own experiments in the playground. */
async function mailOwner(
  { store, mailer, baseUrl, now }: IncidentDependencies,
  clientId: string,
  incidentId: string,
): Promise<void> {
  if (isPlayground(clientId)) return;
  const at = now();
  const { count } = await store.counters.hit(MAILS, clientId, at, at);
  if (count > MAILS.max) return;
  mailer.post('incident', async () => {
    const application = await store.applications.find(clientId);
    const owner = application && (await store.users.find(application.ownerId));
    if (!owner?.emailVerified || owner.disabledAt !== null) return undefined;
    return incidentMail(owner.email, baseUrl, clientId, incidentId);
  });
}
