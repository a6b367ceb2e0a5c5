import type { LogEntryDiagnostics } from '../http/response.ts';
import type { Application } from '../store/applications.ts';
import type { LogDetails } from '../store/request-log.ts';
import type { SqlRetiredSecrets } from '../store/retired-secrets.ts';

type Explained = { readonly reason: string; readonly details: LogDetails };

/** Why an application's credentials were refused. Runs when nobody waits for it any more. */
export async function explainSecret(
  retiredSecrets: SqlRetiredSecrets,
  application: Application,
  secret: NonNullable<LogEntryDiagnostics['rejectedSecret']>,
): Promise<Explained> {
  const { hash, trimmed, tail } = secret;
  const known = application.secrets.find((one) => one.hash === hash);
  if (known?.expiresAt) return { reason: 'secret_expired', details: { tail, ended_at: known.expiresAt } };
  if (known && application.disabledAt !== null)
    return { reason: 'application_disabled', details: { disabled_by: application.disabledBy ?? 'operator' } };
  const ended = known ? undefined : await retiredSecrets.find(application.clientId, hash);
  if (ended) return { reason: `secret_${ended.retiredReason}`, details: { tail, ended_at: ended.retiredAt } };
  const padded = application.secrets.some((one) => one.hash === trimmed);
  const tails = application.secrets.map((one) => `…${one.tail}`).join(', ');
  return { reason: padded ? 'secret_padded' : 'secret_wrong', details: { tail, current: tails } };
}
