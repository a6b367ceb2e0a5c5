import type { Driver } from './drivers/driver.ts';

/** The input of a signing key's derivation besides the service secret: of no use without that secret. */
export type SigningKeyRecord = { readonly number: number; readonly salt: string; readonly createdAt: number };

export class SqlSigningKeys {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** In the order of their numbers. Key 1 has no record: it exists from the start. */
  async list(): Promise<SigningKeyRecord[]> {
    const rows = await this.#driver.read('SELECT number, salt, created_at FROM signing_keys ORDER BY number');
    return rows.map((row) => ({
      number: Number(row.number),
      salt: row.salt as string,
      createdAt: Number(row.created_at),
    }));
  }

  /** False when the number is taken: another process added a key at the same time. */
  async add({ number, salt, createdAt }: SigningKeyRecord): Promise<boolean> {
    const sql = `INSERT INTO signing_keys (number, salt, created_at) VALUES ($1, $2, $3)
      ON CONFLICT DO NOTHING RETURNING number`;
    return (await this.#driver.write(sql, [number, salt, createdAt])).length > 0;
  }
}
