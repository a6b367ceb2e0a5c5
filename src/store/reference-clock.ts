import type { Driver } from './drivers/driver.ts';
import type { SqlGrants } from './grants.ts';

/** Beyond this, codes of one node expire early on another, and clients are limited for too long (docs/operations.md). */
export const MAX_CLOCK_SKEW_MS = 30_000;
/** On SQLite a stopped service looks like a clock that jumped ahead: a weekend is fine. */
const MAX_STOPPED_MS = 3 * 24 * 3600_000;
const RECORD_INTERVAL_MS = 60_000;

/** `aheadMs` is negative when this process's clock is behind. */
export type ClockCheck = { readonly trusted: boolean; readonly aheadMs: number };

/** A time to compare this process's clock with: a wrong clock would delete rows that have not expired. */
export interface ReferenceClock {
  /** `last_run`: there is no other clock, only the time when the service last ran. */
  readonly kind: 'database' | 'last_run';
  compare(now: () => number): Promise<ClockCheck>;
  /** The service runs at `now`, and its clock is right. */
  record(now: number): Promise<void>;
}

/** The clock of a database server. */
export class DatabaseClock implements ReferenceClock {
  readonly kind = 'database';
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async compare(now: () => number): Promise<ClockCheck> {
    const before = now();
    const sql = 'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now';
    const time = Number((await this.#driver.read(sql))[0]!.now);
    // Read at some moment in between: only what is outside is skew.
    const aheadMs = time < before ? before - time : Math.min(0, now() - time);
    return { trusted: Math.abs(aheadMs) <= MAX_CLOCK_SKEW_MS, aheadMs };
  }

  async record(): Promise<void> {}
}

const FIND_LAST_RUN = `SELECT at FROM heartbeats WHERE name = 'clock'`;

const RECORD_RUN = `
  INSERT INTO heartbeats (name, at) VALUES ('clock', $1) ON CONFLICT (name) DO UPDATE SET at = excluded.at`;

/** For an embedded database, which has no clock of its own: time must go on from where the service last ran. */
export class LastRunClock implements ReferenceClock {
  readonly kind = 'last_run';
  readonly #driver: Driver;
  readonly #grants: SqlGrants;
  #recordedAt = 0;

  constructor(driver: Driver, grants: SqlGrants) {
    this.#driver = driver;
    this.#grants = grants;
  }

  async compare(now: () => number): Promise<ClockCheck> {
    const time = now();
    const aheadMs = time - ((await this.#lastRun()) ?? time);
    return { trusted: aheadMs >= -MAX_CLOCK_SKEW_MS && aheadMs <= MAX_STOPPED_MS, aheadMs };
  }

  async record(now: number): Promise<void> {
    if (Math.abs(now - this.#recordedAt) < RECORD_INTERVAL_MS) return;
    await this.#driver.write(RECORD_RUN, [now]);
    this.#recordedAt = now;
  }

  /** Undefined for a new database. One from before there was this row has the uses of its grants. */
  async #lastRun(): Promise<number | undefined> {
    const [row] = await this.#driver.read(FIND_LAST_RUN);
    return row ? Number(row.at) : (await this.#grants.lastUse()) || undefined;
  }
}
