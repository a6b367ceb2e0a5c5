import type { App } from '../app.ts';
import { errorResponse, type HttpResponse, jsonResponse } from '../http/response.ts';

/** GET /health: 200 while requests can be served, which needs a database that can be written and a clock that is right. */
export async function health(app: App): Promise<HttpResponse> {
  const problem = await app.health.check();
  return problem
    ? errorResponse('temporarily_unavailable', { reason: problem })
    : jsonResponse('{"status":"ok"}');
}
