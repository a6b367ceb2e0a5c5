import type { Driver } from './drivers/driver.ts';
import { MAX_CLOCK_SKEW_MS } from './reference-clock.ts';

/** A lease is a row, not a lock of the engine: it works behind a connection pooler and on any engine. */
export class SqlLeases {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** True when `holder` has the lease for `durationMs`. Meanwhile no other process on any node can take it. */
  async take(name: string, holder: string, durationMs: number, now: number): Promise<boolean> {
    // A lease that expires later than clocks can differ was taken by a clock that was wrong: it does not count.
    const sql = `INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, $3)
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
        WHERE leases.holder = excluded.holder OR leases.expires_at <= $4 OR leases.expires_at > $5
      RETURNING name`;
    const until = now + durationMs;
    return (
      (await this.#driver.write(sql, [name, holder, until, now, until + 2 * MAX_CLOCK_SKEW_MS])).length > 0
    );
  }

  /** Gives the lease back before it expires. */
  async release(name: string, holder: string): Promise<void> {
    await this.#driver.write('DELETE FROM leases WHERE name = $1 AND holder = $2', [name, holder]);
  }
}
