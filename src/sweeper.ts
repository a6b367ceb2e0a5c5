import type { App } from './app.ts';
import { newId } from './protocol/credentials.ts';
import type { SweepPosition } from './store/grants.ts';

const STEP_MS = 1_000;
/** A consent form may be sent again for an hour; until then its grant must be known, though its code expired. */
const KEPT_MS = 3600_000;
const GRANTS_A_STEP = 1_000;
/** One process sweeps at a time. When it is gone, another takes over after this. */
const LEASE = 'sweeper';
const LEASE_MS = 30_000;
const SECURITY_EVENTS_KEPT_MS = 180 * 24 * 3600_000;
const REQUESTS_KEPT_MS = 30 * 24 * 3600_000;
/** A whole month, with the day it begins in. */
const USAGE_KEPT_MS = 32 * 24 * 3600_000;
const START: SweepPosition = { userId: '', grantId: '' };

/**
 * Removes what has expired, a small step at a time, so that no request ever waits for it.
 * It walks all grants round and round; at this pace ten million take less than three hours.
 */
export class Sweeper {
  readonly #app: App;
  #position = START;
  /** Live grants seen since the walk began. */
  #live = 0;
  #timer: NodeJS.Timeout | undefined;
  #step: Promise<unknown> = Promise.resolve();
  readonly #holder = newId();
  #heldUntil = 0;
  #askAgainAt = 0;

  constructor(app: App) {
    this.#app = app;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#step = this.#stepIfOurs()
        .catch((error) =>
          this.#app.log.error({ err: error }, 'the sweeper failed; it goes on with the next step'),
        )
        .then(() => {
          if (this.#timer) this.start();
        });
    }, STEP_MS).unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#step;
    if (this.#heldUntil > 0) await this.#app.store.leases.release(LEASE, this.#holder).catch(() => {});
  }

  async #stepIfOurs(): Promise<void> {
    if (await this.#holdsLease(this.#app.now())) await this.step();
  }

  /** Asked for in good time before it ends, and where another process has it, no more often than that. */
  async #holdsLease(now: number): Promise<boolean> {
    if (now >= this.#askAgainAt) {
      const until = now + LEASE_MS;
      const ours = await this.#app.store.leases.take(LEASE, this.#holder, until, now);
      this.#heldUntil = ours ? until : 0;
      this.#askAgainAt = now + LEASE_MS / 3;
      if (!ours) this.#forgetCount();
    }
    return now < this.#heldUntil;
  }

  /** Another process counts now: what this one saw of the grants is only getting older. */
  #forgetCount(): void {
    this.#position = START;
    this.#live = 0;
    this.#app.metrics?.grantsCounted(undefined);
  }

  /** One step; true when it reached the end of the grants and starts over with the next. */
  async step(): Promise<boolean> {
    const { store, config } = this.#app;
    const now = this.#app.now();
    // The last access token of a grant may outlive its refresh token when the settings say so.
    const expiredBefore = now - Math.max(config.accessTokenTtlMs, KEPT_MS);
    const { next, live } = await store.grants.sweep(this.#position, GRANTS_A_STEP, expiredBefore, now);
    this.#position = next ?? START;
    this.#live += live;
    if (!next) {
      this.#app.metrics?.grantsCounted(this.#live);
      this.#live = 0;
    }
    await store.revokedAccessTokens.sweep(GRANTS_A_STEP, now);
    await store.sessions.sweep(GRANTS_A_STEP, now);
    await store.counters.sweep(GRANTS_A_STEP, now);
    await store.signUps.sweep(GRANTS_A_STEP, now);
    await store.mailLinks.sweep(GRANTS_A_STEP, now);
    await store.securityEvents.sweep(GRANTS_A_STEP, now - SECURITY_EVENTS_KEPT_MS);
    await store.requestLog.sweep(GRANTS_A_STEP, now - REQUESTS_KEPT_MS);
    await store.incidents.sweep(GRANTS_A_STEP, now - REQUESTS_KEPT_MS);
    await store.retiredSecrets.sweep(GRANTS_A_STEP, now - REQUESTS_KEPT_MS);
    await store.usage.sweep(GRANTS_A_STEP, now - USAGE_KEPT_MS);
    return next === undefined;
  }
}
