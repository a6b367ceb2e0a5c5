import { type DestinationStream, symbols } from 'pino';
import type { App } from './app.ts';
import type { Answered, HttpRequest } from './http-request.ts';
import { RequestLog } from './request-log/request-log.ts';
import { afterThis, Together } from './together.ts';

/** What is written down of a request once it has its answer. Nobody waits for it. */
export class AnsweredRequests {
  readonly #app: App;
  readonly #requestLog: RequestLog;
  readonly #answered = new Together<Answered>(afterThis, (all) => this.#take(all));

  constructor(app: App) {
    this.#app = app;
    this.#requestLog = RequestLog.of(app);
  }

  add(answered: Answered): void {
    this.#answered.add(answered);
  }

  async close(): Promise<void> {
    this.#answered.takeNow();
    await this.#requestLog.close();
  }

  #take(all: readonly Answered[]): void {
    for (const answered of all) logLine(this.#app, answered);
    for (const answered of all) this.#requestLog.observe(answered);
    const { metrics } = this.#app;
    if (metrics) for (const answered of all) metrics.requestAnswered(measured(answered));
  }
}

/**
 * One line a request. The address as registered, never as sent: a query can hold a code. As pino would write it, but
 * by JSON.stringify: of the few plain values here it makes a line in a third of the time.
 */
function logLine({ log }: App, { request, answer, at, ms }: Answered): void {
  const level = request.route?.quiet ? 'debug' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const line = JSON.stringify({
    level: log.levels.values[level],
    time: at,
    request: request.id,
    method: request.method,
    path: request.route?.path ?? '(none)',
    status: answer.status,
    ms: Math.round(ms * 10) / 10,
    address: request.ip,
    client: answer.note?.client,
    reason: answer.note?.reason,
  });
  (log as unknown as Writing)[symbols.streamSym].write(`${line}\n`);
}

/** Where a logger's lines go. */
type Writing = { readonly [symbols.streamSym]: DestinationStream };

const measured = ({ request, answer, ms }: Answered) => ({
  ...labelsOf(request),
  status: answer.status,
  error: answer.error,
  seconds: ms / 1000,
});

/** The address as registered; whatever is not registered is one series, however many are tried. */
export function labelsOf({ route, method }: HttpRequest): { method: string; route: string } {
  if (!route) return { method: 'other', route: 'none' };
  return { method, route: route.path.startsWith('/assets/') ? '/assets' : route.path };
}
