import type { App } from '../app.ts';
import { errorResponse, type HttpResponse, jsonResponse } from '../http/response.ts';

/** GET /health: 200 while requests can be served, which needs the database. */
export async function health(app: App): Promise<HttpResponse> {
  try {
    await app.store.ping();
    return jsonResponse('{"status":"ok"}');
  } catch (error) {
    app.log.error({ err: error }, 'the database does not respond');
    return errorResponse('temporarily_unavailable', { reason: 'database_unavailable' });
  }
}
