import type { Driver } from './drivers/driver.ts';

/** The fingerprint of the service secret that this database belongs to: one row. */
export class SqlSecretFingerprint {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async find(): Promise<string | undefined> {
    const [row] = await this.#driver.read('SELECT fingerprint FROM secret_fingerprint WHERE id = 1');
    return row?.fingerprint as string | undefined;
  }

  /** Stores `fingerprint` unless one is stored already; returns the stored one. */
  async keepFirst(fingerprint: string): Promise<string> {
    const stored = await this.find();
    if (stored !== undefined) return stored;
    const sql = 'INSERT INTO secret_fingerprint (id, fingerprint) VALUES (1, $1) ON CONFLICT DO NOTHING';
    await this.#driver.write(sql, [fingerprint]);
    return (await this.find()) ?? fingerprint;
  }

  async replace(fingerprint: string): Promise<void> {
    const sql = `INSERT INTO secret_fingerprint (id, fingerprint) VALUES (1, $1)
      ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint`;
    await this.#driver.write(sql, [fingerprint]);
  }
}
