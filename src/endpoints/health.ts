import { type Answer, errorAnswer, json } from '../answer.ts';
import type { App } from '../app.ts';

/** GET /health: 200 while requests can be served, which needs the database. */
export async function health(app: App): Promise<Answer> {
  try {
    await app.store.ping();
    return json('{"status":"ok"}');
  } catch (error) {
    app.log.error({ err: error }, 'the database does not answer');
    return errorAnswer('temporarily_unavailable', { reason: 'database' });
  }
}
