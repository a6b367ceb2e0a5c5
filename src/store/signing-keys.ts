import type { Driver } from './drivers/driver.ts';
import type { KeyStore, SigningKeyRecord } from './store.ts';

export class SqlSigningKeys implements KeyStore {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async list(): Promise<SigningKeyRecord[]> {
    const rows = await this.#driver.read('SELECT number, salt, created_at FROM signing_keys ORDER BY number');
    return rows.map((row) => ({
      number: Number(row.number),
      salt: row.salt as string,
      createdAt: Number(row.created_at),
    }));
  }

  async add({ number, salt, createdAt }: SigningKeyRecord): Promise<boolean> {
    const sql = `INSERT INTO signing_keys (number, salt, created_at) VALUES ($1, $2, $3)
      ON CONFLICT DO NOTHING RETURNING number`;
    return (await this.#driver.write(sql, [number, salt, createdAt])).length > 0;
  }

  async fingerprint(): Promise<string | undefined> {
    const [row] = await this.#driver.read('SELECT fingerprint FROM secret_fingerprint WHERE id = 1');
    return row?.fingerprint as string | undefined;
  }

  async keepFingerprint(fingerprint: string): Promise<string> {
    const kept = await this.fingerprint();
    if (kept !== undefined) return kept;
    const sql = 'INSERT INTO secret_fingerprint (id, fingerprint) VALUES (1, $1) ON CONFLICT DO NOTHING';
    await this.#driver.write(sql, [fingerprint]);
    return (await this.fingerprint()) ?? fingerprint;
  }

  async replaceFingerprint(fingerprint: string): Promise<void> {
    const sql = `INSERT INTO secret_fingerprint (id, fingerprint) VALUES (1, $1)
      ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint`;
    await this.#driver.write(sql, [fingerprint]);
  }
}
