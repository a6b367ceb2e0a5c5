import type { Logger } from 'pino';
import type { ClockCheck, ReferenceClock } from '../store/reference-clock.ts';
import type { Metrics } from './metrics.ts';

type Dependencies = {
  readonly reference: ReferenceClock;
  readonly now: () => number;
  readonly log: Logger;
  readonly metrics?: Metrics | undefined;
};

/**
 * Keeps a wrong clock from doing harm: 40 days ahead, it would delete every grant and session. A node whose clock
 * cannot be trusted deletes nothing and reports itself unhealthy (decision 035).
 */
export class ClockGuard {
  readonly #dependencies: Dependencies;
  #trusted = true;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The time, compared with the reference just now; undefined when it cannot be trusted. */
  async trustedNow(): Promise<number | undefined> {
    const { reference, now, metrics } = this.#dependencies;
    const time = now();
    const check = await reference.compare(now);
    if (reference.kind === 'database') metrics?.clockCompared(check.aheadMs / 1000);
    this.#logChange(check);
    if (!check.trusted) return undefined;
    await reference.record(time);
    return time;
  }

  /** Once, not at every check. */
  #logChange({ trusted, aheadMs }: ClockCheck): void {
    if (trusted === this.#trusted) return;
    this.#trusted = trusted;
    const { reference, log } = this.#dependencies;
    const details = { clock_ahead_seconds: Math.round(aheadMs / 1000) };
    if (trusted) log.info(details, 'the clock can be trusted again');
    else log.error(details, reference.kind === 'database' ? CLOCKS_DIFFER : explainLastRun(aheadMs));
  }
}

const CONSEQUENCE = 'Until then nothing that expired is deleted, and /health is 503.';

const CLOCKS_DIFFER = `the clock of this machine differs from the database's: correct it. ${CONSEQUENCE}`;

const explainLastRun = (aheadMs: number): string =>
  aheadMs < 0
    ? `the clock is earlier than when the service last ran: correct it, or if it is right now, run: bin/postern confirm-clock. ${CONSEQUENCE}`
    : `the clock is far ahead of when the service last ran: correct it, or if the service was stopped that long, run: bin/postern confirm-clock. ${CONSEQUENCE}`;
