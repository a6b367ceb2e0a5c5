import type { SecretState, SecretView } from '../pages/application-secrets.ts';
import type { ApplicationSecret } from '../store/application-secrets.ts';
import type { Application } from '../store/applications.ts';

/** An active application refreshes tokens about every hour, so a secret that was not used for a day is idle. */
const IN_USE_MS = 24 * 3600 * 1000;

/** The secrets that still work, oldest first. */
export function liveSecrets({ secrets }: Application, now: number): ApplicationSecret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
}

export function secretViews(application: Application, now: number): SecretView[] {
  const live = liveSecrets(application, now);
  return live.map((secret) => {
    const others = live.filter((other) => other !== secret);
    const { id, tail, createdAt, expiresAt, lastUsedAt } = secret;
    const removable = others.some((other) => other.expiresAt === null);
    return { id, tail, createdAt, expiresAt, lastUsedAt, state: stateOf(secret, others, now), removable };
  });
}

/** An idle secret is replaced when a newer one is in use; an idle newer one may be about to be deployed. */
function stateOf(secret: ApplicationSecret, others: readonly ApplicationSecret[], now: number): SecretState {
  if (inUse(secret, now)) return 'in_use';
  const replaced = others.some((other) => inUse(other, now) && other.createdAt > secret.createdAt);
  if (replaced) return 'replaced';
  return secret.lastUsedAt === null ? 'never_used' : 'idle';
}

const inUse = ({ lastUsedAt }: ApplicationSecret, now: number): boolean =>
  lastUsedAt !== null && now - lastUsedAt < IN_USE_MS;
