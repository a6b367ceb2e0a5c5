import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { newId } from '../protocol/credentials.ts';
import type { SecurityEventKind } from '../store/security-events.ts';

/** Records an event in the user's recent activity. A repeated `id` is recorded once. */
export async function recordEvent(
  app: App,
  request: HttpRequest,
  userId: string,
  kind: SecurityEventKind,
  { id = newId(), clientId }: { id?: string; clientId?: string } = {},
): Promise<void> {
  await app.store.securityEvents.record({
    userId,
    id,
    at: app.now(),
    kind,
    address: request.ip,
    userAgent: request.userAgent,
    ...(clientId !== undefined && { clientId }),
  });
}

/** Records it after the response, whose time must not disclose that there was something to record. */
export function recordEventLater(...event: Parameters<typeof recordEvent>): void {
  const [{ log }] = event;
  setImmediate(() => {
    recordEvent(...event).catch((error: unknown) =>
      log.error({ err: error }, 'a security event was not recorded'),
    );
  });
}
