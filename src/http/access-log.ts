import type { App } from '../app.ts';
import { Batch, onNextTick } from '../batch.ts';
import { reasonOf } from '../request-log/diagnostics.ts';
import type { CompletedRequest, HttpRequest } from './request.ts';

/** Records completed requests in the log, the applications' request logs and the metrics, off the response path. */
export class AccessLog {
  readonly #app: App;
  readonly #completed = new Batch<CompletedRequest>(onNextTick, (batch) => this.#write(batch));

  constructor(app: App) {
    this.#app = app;
  }

  record(completed: CompletedRequest): void {
    this.#completed.add(completed);
  }

  async close(): Promise<void> {
    this.#completed.flush();
    await this.#app.requestLog.close();
  }

  #write(batch: readonly CompletedRequest[]): void {
    const { requestLog, metrics } = this.#app;
    for (const completed of batch) writeLine(this.#app, completed);
    for (const completed of batch) {
      const endpoint = completed.request.route?.logged;
      if (endpoint !== undefined) requestLog.record(endpoint, completed);
    }
    if (metrics) for (const completed of batch) metrics.requestCompleted(sampleOf(completed));
  }
}

/**
 * The route's path, never the one sent: a query can hold a code. The line is what pino would write, but from
 * JSON.stringify: for these few plain values that takes a third of the time.
 */
function writeLine(
  { log, logDestination }: App,
  { request, response, at, durationMs }: CompletedRequest,
): void {
  const level = request.route?.quiet ? 'debug' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const line = JSON.stringify({
    level: log.levels.values[level],
    time: at,
    request_id: request.id,
    method: request.method,
    path: request.route?.path ?? '(none)',
    status: response.status,
    duration_ms: Math.round(durationMs * 10) / 10,
    address: request.ip,
    client_id: response.diagnostics?.clientId,
    reason: reasonOf(response.diagnostics),
  });
  logDestination.write(`${line}\n`);
}

const sampleOf = ({ request, response, durationMs }: CompletedRequest) => ({
  ...labelsOf(request),
  status: response.status,
  error: response.error,
  seconds: durationMs / 1000,
});

/** Labels from a closed set: all paths without a route are one series, however many are tried. */
export function labelsOf({ route, method }: HttpRequest): { method: string; route: string } {
  if (!route) return { method: 'other', route: 'none' };
  return { method, route: route.path.startsWith('/assets/') ? '/assets' : route.path };
}
