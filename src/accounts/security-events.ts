import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { newId } from '../protocol/credentials.ts';
import type { SecurityEventKind } from '../store/security-events.ts';

/** Takes down what happened to an account, from where. Two of one id are one event. */
export async function recordEvent(
  app: App,
  request: HttpRequest,
  userId: string,
  kind: SecurityEventKind,
  { id = newId(), clientId }: { id?: string; clientId?: string } = {},
): Promise<void> {
  const where = { address: request.ip, userAgent: request.userAgent };
  await app.store.securityEvents.record({
    userId,
    id,
    at: app.now(),
    kind,
    ...where,
    ...(clientId !== undefined && { clientId }),
  });
}
