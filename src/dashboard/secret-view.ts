import type { SecretState, SecretView } from '../pages/application-secrets.ts';
import type { ApplicationSecret } from '../store/application-secrets.ts';
import type { Application } from '../store/applications.ts';

/** An application in use renews its tokens about every hour; what a whole day does not use is not in use. */
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

/** An older secret is safe to remove when a newer one has taken over; a newer one may be about to. */
function stateOf(secret: ApplicationSecret, others: readonly ApplicationSecret[], now: number): SecretState {
  if (inUse(secret, now)) return 'in_use';
  const takenOver = others.some((other) => inUse(other, now) && other.createdAt > secret.createdAt);
  if (takenOver) return 'replaced';
  return secret.lastUsedAt === null ? 'never_used' : 'idle';
}

const inUse = ({ lastUsedAt }: ApplicationSecret, now: number): boolean =>
  lastUsedAt !== null && now - lastUsedAt < IN_USE_MS;
