import type { Failure } from '../protocol/failure-reason.ts';
import type { Application } from '../store/applications.ts';
import type { SqlRetiredSecrets } from '../store/retired-secrets.ts';
import type { RejectedSecret } from './diagnostics.ts';

/** Why an application's credentials were rejected at `at`. Runs after the response, off the request path. */
export async function explainRejectedSecret(
  retiredSecrets: SqlRetiredSecrets,
  application: Application,
  { hash, trimmedHash, tail }: RejectedSecret,
  at: number,
): Promise<Failure> {
  const known = application.secrets.find((secret) => secret.hash === hash);
  if (known && known.expiresAt !== null && known.expiresAt <= at)
    return { reason: 'secret_expired', details: { tail, retiredAt: known.expiresAt } };
  const retired = known ? undefined : await retiredSecrets.find(application.clientId, hash);
  if (retired) {
    const reason = retired.retiredReason === 'expired' ? 'secret_expired' : 'secret_removed';
    return { reason, details: { tail, retiredAt: retired.retiredAt } };
  }
  if (application.secrets.some((secret) => secret.hash === trimmedHash))
    return { reason: 'secret_padded', details: { tail } };
  const activeTails = application.secrets.map((secret) => `…${secret.tail}`).join(', ');
  return { reason: 'secret_wrong', details: { tail, activeTails } };
}
