import type { App } from './app.ts';
import { CONSENT_TTL_MS } from './oauth/authorize.ts';
import { newId } from './protocol/credentials.ts';
import type { SweepPosition } from './store/grants.ts';

const STEP_INTERVAL_MS = 1_000;
const ROWS_PER_STEP = 1_000;
/** One process sweeps at a time. If it dies, another one takes over when its lease has expired. */
const LEASE = 'sweeper';
const LEASE_MS = 30_000;
const SECURITY_EVENT_RETENTION_MS = 180 * 24 * 3600_000;
const REQUEST_LOG_RETENTION_MS = 30 * 24 * 3600_000;
/** A whole month, plus the day on which it begins. */
const USAGE_RETENTION_MS = 32 * 24 * 3600_000;
const START: SweepPosition = { userId: '', grantId: '' };

/**
 * Removes expired rows in small steps, so that no request waits for it. It passes over all grants
 * again and again; ten million take less than three hours.
 */
export class Sweeper {
  readonly #app: App;
  #position = START;
  /** Live grants counted in the current pass. */
  #liveGrants = 0;
  #timer: NodeJS.Timeout | undefined;
  #step: Promise<unknown> = Promise.resolve();
  readonly #holder = newId();
  /** By the monotonic clock of this process. */
  #leasedUntil = 0;
  #renewAt = 0;

  constructor(app: App) {
    this.#app = app;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#step = this.#stepIfLeased()
        .catch((error) =>
          this.#app.log.error({ err: error }, 'a step of the sweeper failed; the next step follows'),
        )
        .then(() => {
          if (this.#timer) this.start();
        });
    }, STEP_INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#step;
    await this.#release().catch(() => {});
  }

  /** A clock that cannot be trusted takes no lease and deletes nothing: it is compared before every step. */
  async #stepIfLeased(): Promise<void> {
    const elapsed = performance.now();
    if (elapsed < this.#renewAt && elapsed >= this.#leasedUntil) return;
    const now = await this.#app.clock.trustedNow();
    if (now === undefined) return this.#release();
    if (elapsed >= this.#renewAt) await this.#takeLease(now, elapsed);
    if (elapsed < this.#leasedUntil) await this.step(now);
  }

  /** Renews the lease well before it expires; if another process holds it, tries no more often than that. */
  async #takeLease(now: number, elapsed: number): Promise<void> {
    const leased = await this.#app.store.leases.take(LEASE, this.#holder, LEASE_MS, now);
    this.#leasedUntil = leased ? elapsed + LEASE_MS : 0;
    this.#renewAt = elapsed + LEASE_MS / 3;
    if (!leased) this.#forgetCount();
  }

  async #release(): Promise<void> {
    if (this.#leasedUntil === 0) return;
    this.#leasedUntil = 0;
    this.#renewAt = 0;
    this.#forgetCount();
    await this.#app.store.leases.release(LEASE, this.#holder);
  }

  /** Another process sweeps and counts now: this one's count would only become outdated. */
  #forgetCount(): void {
    this.#position = START;
    this.#liveGrants = 0;
    this.#app.metrics?.grantsCounted(undefined);
  }

  /** Returns true if this step completed a pass over all grants. */
  async step(now = this.#app.now()): Promise<boolean> {
    const { store, config } = this.#app;
    // An access token may outlive the refresh token of its grant (if the settings say so), and a consent form
    // that is submitted twice must find the grant that it created, even if the code expired.
    const expiredBefore = now - Math.max(config.accessTokenTtlMs, CONSENT_TTL_MS);
    const { next, live, orphaned } = await store.grants.sweep(
      this.#position,
      ROWS_PER_STEP,
      expiredBefore,
      now,
    );
    this.#position = next ?? START;
    this.#liveGrants += live;
    if (orphaned > 0) this.#app.metrics?.grantRevoked('application_deleted', orphaned);
    if (!next) {
      this.#app.metrics?.grantsCounted(this.#liveGrants);
      this.#liveGrants = 0;
    }
    await store.revokedAccessTokens.sweep(ROWS_PER_STEP, now);
    await store.sessions.sweep(ROWS_PER_STEP, now);
    await store.counters.sweep(ROWS_PER_STEP, now);
    await store.signUps.sweep(ROWS_PER_STEP, now);
    await store.mailLinks.sweep(ROWS_PER_STEP, now);
    await store.securityEvents.sweep(ROWS_PER_STEP, now - SECURITY_EVENT_RETENTION_MS);
    await store.requestLog.sweep(ROWS_PER_STEP, now - REQUEST_LOG_RETENTION_MS);
    await store.incidents.sweep(ROWS_PER_STEP, now - REQUEST_LOG_RETENTION_MS);
    await store.retiredSecrets.sweep(ROWS_PER_STEP, now - REQUEST_LOG_RETENTION_MS);
    await store.usage.sweep(ROWS_PER_STEP, now - USAGE_RETENTION_MS);
    return next === undefined;
  }
}
