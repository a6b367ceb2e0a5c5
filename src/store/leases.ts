import type { Driver } from './drivers/driver.ts';

/** A lease is a row, not a lock of the engine: it works behind a connection pooler and on any engine. */
export class SqlLeases {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** True when `holder` has the lease until `until`. Until then no other process on any node can take it. */
  async take(name: string, holder: string, until: number, now: number): Promise<boolean> {
    const sql = `INSERT INTO leases (name, holder, expires_at) VALUES ($1, $2, $3)
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
        WHERE leases.holder = excluded.holder OR leases.expires_at <= $4
      RETURNING name`;
    return (await this.#driver.write(sql, [name, holder, until, now])).length > 0;
  }

  /** Gives the lease back before it expires. */
  async release(name: string, holder: string): Promise<void> {
    await this.#driver.write('DELETE FROM leases WHERE name = $1 AND holder = $2', [name, holder]);
  }
}
