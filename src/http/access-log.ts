import type { App } from '../app.ts';
import { Batch, onNextTick } from '../batch.ts';
import { RequestLog } from '../request-log/request-log.ts';
import type { CompletedRequest, HttpRequest } from './request.ts';

/** What is written down of a request once it has its response. Nobody waits for it. */
export class AccessLog {
  readonly #app: App;
  readonly #requestLog: RequestLog;
  readonly #answered = new Batch<CompletedRequest>(onNextTick, (all) => this.#take(all));

  constructor(app: App) {
    this.#app = app;
    this.#requestLog = RequestLog.of(app);
  }

  add(answered: CompletedRequest): void {
    this.#answered.add(answered);
  }

  async close(): Promise<void> {
    this.#answered.flush();
    await this.#requestLog.close();
  }

  #take(all: readonly CompletedRequest[]): void {
    for (const answered of all) logLine(this.#app, answered);
    for (const answered of all) this.#requestLog.record(answered);
    const { metrics } = this.#app;
    if (metrics) for (const answered of all) metrics.requestCompleted(measured(answered));
  }
}

/**
 * One line a request. The address as registered, never as sent: a query can hold a code. As pino would write it, but
 * by JSON.stringify: of the few plain values here it makes a line in a third of the time.
 */
function logLine(
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
    reason: response.diagnostics?.reason,
  });
  logDestination.write(`${line}\n`);
}

const measured = ({ request, response, durationMs }: CompletedRequest) => ({
  ...labelsOf(request),
  status: response.status,
  error: response.error,
  seconds: durationMs / 1000,
});

/** The address as registered; whatever is not registered is one series, however many are tried. */
export function labelsOf({ route, method }: HttpRequest): { method: string; route: string } {
  if (!route) return { method: 'other', route: 'none' };
  return { method, route: route.path.startsWith('/assets/') ? '/assets' : route.path };
}
