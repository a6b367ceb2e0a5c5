import type { Driver } from './drivers/driver.ts';
import { number, type ObjectOf, text, WritableRowType } from './row-type.ts';

const SIGNING_KEY = new WritableRowType({
  number: number('number'),
  salt: text('salt'),
  createdAt: number('created_at'),
});

/** The input of a signing key's derivation besides the service secret: of no use without that secret. */
export type SigningKeyRecord = ObjectOf<typeof SIGNING_KEY>;

export class SqlSigningKeys {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** In the order of their numbers. Key 1 has no record: it exists from the start. */
  async list(): Promise<SigningKeyRecord[]> {
    const rows = await this.#driver.read(`SELECT ${SIGNING_KEY.columns} FROM signing_keys ORDER BY number`);
    return rows.map((row) => SIGNING_KEY.read(row));
  }

  /** False when the number is taken: another process added a key at the same time. */
  async add(key: SigningKeyRecord): Promise<boolean> {
    const sql = `INSERT INTO signing_keys (${SIGNING_KEY.columns}) VALUES ($1, $2, $3)
      ON CONFLICT DO NOTHING RETURNING number`;
    return (await this.#driver.write(sql, SIGNING_KEY.write(key))).length > 0;
  }
}
