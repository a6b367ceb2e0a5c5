import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import type { ClockGuard } from './clock-guard.ts';

const CHECK_INTERVAL_MS = 1_000;

/** Reasons not to send requests here. */
export type HealthProblem = 'draining' | 'database_unavailable' | 'clock_untrusted';

type Dependencies = { readonly store: Store; readonly clock: ClockGuard; readonly log: Logger };

/** Whether requests can be served. The database is asked at most once per second, however often this is. */
export class ServiceHealth {
  /** The process is about to stop: a load balancer should send no more requests. */
  draining = false;
  readonly #dependencies: Dependencies;
  #last: Promise<HealthProblem | undefined> = Promise.resolve(undefined);
  #nextCheckAt = 0;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  check(): Promise<HealthProblem | undefined> {
    if (this.draining) return Promise.resolve('draining');
    if (performance.now() >= this.#nextCheckAt) {
      // None starts while one is under way: a silent database must not gather them.
      this.#nextCheckAt = Number.POSITIVE_INFINITY;
      this.#last = this.#probe().finally(() => {
        this.#nextCheckAt = performance.now() + CHECK_INTERVAL_MS;
      });
    }
    return this.#last;
  }

  async #probe(): Promise<HealthProblem | undefined> {
    const { store, clock, log } = this.#dependencies;
    try {
      // A full or read-only database still responds to reads.
      await store.checkWritable();
      return (await clock.trustedNow()) === undefined ? 'clock_untrusted' : undefined;
    } catch (error) {
      log.error({ err: error }, 'the database cannot be read and written');
      return 'database_unavailable';
    }
  }
}
