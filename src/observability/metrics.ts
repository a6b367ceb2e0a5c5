import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { RevokedReason } from '../protocol/failure-reason.ts';
import { type Timing, Timings } from './timings.ts';
import { shareWithPrimary } from './worker-metrics.ts';

/** Seconds, from a tenth of the fastest response measured to the longest a request may take. */
const REQUEST_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const DATABASE_BOUNDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5];

type DatabaseOperation = 'read' | 'write' | 'transaction';

/** A completed request. Labels are from closed sets: nothing that a client sent becomes a label. */
type RequestSample = {
  readonly method: string;
  /** The path of the route, never of the request. */
  readonly route: string;
  readonly status: number;
  readonly error: string | undefined;
  readonly seconds: number;
};

type RequestSeries = { readonly labels: Record<string, string>; readonly timing: Timing; count: number };

/** All metrics; docs/metrics.md explains each. Created only if POSTERN_METRICS_PORT is set. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #series = new Map<string, RequestSeries>();
  readonly #routes = new Map<string, Timing>();
  readonly #latency = new Timings(
    {
      name: 'postern_request_duration_seconds',
      help: 'Time from the arrival of a request to its response.',
      bounds: REQUEST_BOUNDS,
    },
    this.#registry,
  );
  readonly #database = new Timings(
    {
      name: 'postern_database_duration_seconds',
      help: 'Duration of a database operation, including the wait for its turn and its commit.',
      bounds: DATABASE_BOUNDS,
    },
    this.#registry,
  );
  readonly #operations = {
    read: this.#database.timing({ operation: 'read' }),
    write: this.#database.timing({ operation: 'write' }),
    transaction: this.#database.timing({ operation: 'transaction' }),
  };
  readonly #limitRefusals = this.#counter(
    'postern_rate_limit_refusals_total',
    'Token and revocation requests refused by the rate limit, by counter.',
    ['counter'],
  );
  readonly #revoked = this.#counter('postern_grants_revoked_total', 'Grants revoked before they expired.', [
    'reason',
  ]);
  readonly #logDropped = this.#counter(
    'postern_log_entries_dropped_total',
    'Request log entries dropped under overload.',
    [],
  );
  readonly #liveGrants = new Gauge({
    name: 'postern_grants_live',
    help: "Grants neither expired nor revoked, as of the sweeper's last full pass.",
    registers: [],
    aggregator: 'max',
  });
  #liveGrantsKnown = false;
  readonly #clockSkew = new Gauge({
    name: 'postern_clock_skew_seconds',
    help: "This machine's clock minus the database's.",
    registers: [],
    aggregator: 'max',
  });
  #clockSkewKnown = false;

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    const series = this.#series;
    new Counter({
      name: 'postern_requests_total',
      help: 'Completed requests.',
      labelNames: ['method', 'route', 'status', 'error'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { labels, count } of series.values()) this.inc(labels, count);
      },
    });
    this.#logDropped.inc(0);
  }

  requestCompleted({ method, route, status, error = '', seconds }: RequestSample): void {
    const key = `${method} ${route} ${status} ${error}`;
    let series = this.#series.get(key);
    if (!series) {
      const labels = { method, route, status: String(status), error };
      series = { labels, timing: this.#timingOf(method, route), count: 0 };
      this.#series.set(key, series);
    }
    series.count++;
    series.timing.observe(seconds);
  }

  rateLimited(counter: 'address' | 'client'): void {
    this.#limitRefusals.inc({ counter });
  }

  grantRevoked(reason: RevokedReason, count = 1): void {
    this.#revoked.inc({ reason }, count);
  }

  databaseCompleted(operation: DatabaseOperation, seconds: number): void {
    this.#operations[operation].observe(seconds);
  }

  /** Undefined if this process no longer counts them: an old figure must not look current. */
  grantsCounted(live: number | undefined): void {
    if (live === undefined) {
      if (this.#liveGrantsKnown) this.#registry.removeSingleMetric('postern_grants_live');
      this.#liveGrantsKnown = false;
      return;
    }
    if (!this.#liveGrantsKnown) this.#registry.registerMetric(this.#liveGrants);
    this.#liveGrantsKnown = true;
    this.#liveGrants.set(live);
  }

  /** Only with a database that has a clock of its own. */
  clockCompared(aheadSeconds: number): void {
    if (!this.#clockSkewKnown) this.#registry.registerMetric(this.#clockSkew);
    this.#clockSkewKnown = true;
    this.#clockSkew.set(aheadSeconds);
  }

  logEntriesDropped(count: number): void {
    this.#logDropped.inc(count);
  }

  /** In a worker: the primary process adds up the metrics of all workers. */
  shareWithPrimary(): void {
    shareWithPrimary(this.#registry);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #timingOf(method: string, route: string): Timing {
    const key = `${method} ${route}`;
    let timing = this.#routes.get(key);
    if (!timing) {
      timing = this.#latency.timing({ method, route });
      this.#routes.set(key, timing);
    }
    return timing;
  }
}
