import type { EntryNote } from '../answer.ts';
import type { Facts, RequestLogStore } from '../store/request-records.ts';
import type { Application } from '../store/store.ts';

type Explained = { readonly reason: string; readonly facts: Facts };

/** Why an application's credentials were refused. Runs when nobody waits for it any more. */
export async function explainSecret(
  log: RequestLogStore,
  application: Application,
  secret: NonNullable<EntryNote['secret']>,
): Promise<Explained> {
  const { hash, trimmed, tail } = secret;
  const known = application.secrets.find((one) => one.hash === hash);
  if (known?.expiresAt) return { reason: 'secret_expired', facts: { tail, ended_at: known.expiresAt } };
  if (known && application.disabledAt !== null)
    return { reason: 'application_disabled', facts: { disabled_by: application.disabledBy ?? 'operator' } };
  const ended = known ? undefined : await log.endedSecret(application.clientId, hash);
  if (ended) return { reason: `secret_${ended.endedBy}`, facts: { tail, ended_at: ended.endedAt } };
  const padded = application.secrets.some((one) => one.hash === trimmed);
  const tails = application.secrets.map((one) => `…${one.tail}`).join(', ');
  return { reason: padded ? 'secret_padded' : 'secret_wrong', facts: { tail, current: tails } };
}
