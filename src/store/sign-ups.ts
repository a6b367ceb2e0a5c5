import type { Driver } from './drivers/driver.ts';
import { number, type ObjectOf, placeholders, RowType, text, WritableRowType } from './row-type.ts';

const SIGN_UP = new RowType({
  email: text('email'),
  name: text('name'),
  passwordHash: text('password_hash'),
  browserHash: text('browser_hash'),
});

const NEW_SIGN_UP = new WritableRowType({
  ...SIGN_UP.fields,
  tokenHash: text('token_hash'),
  expiresAt: number('expires_at'),
});

/** A requested account. No user exists until the email address is verified. */
export type SignUp = ObjectOf<typeof SIGN_UP>;
type NewSignUp = ObjectOf<typeof NEW_SIGN_UP>;

export class SqlSignUps {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async create(signUp: NewSignUp): Promise<void> {
    const values = NEW_SIGN_UP.write(signUp);
    const sql = `INSERT INTO sign_ups (${NEW_SIGN_UP.columns}) VALUES (${placeholders(values.length)})`;
    await this.#driver.write(sql, values);
  }

  async find(tokenHash: string, now: number): Promise<SignUp | undefined> {
    const sql = `SELECT ${SIGN_UP.columns} FROM sign_ups WHERE token_hash = $1 AND expires_at > $2`;
    const [row] = await this.#driver.read(sql, [tokenHash, now]);
    return row && SIGN_UP.read(row);
  }

  /** Finds and removes it in one statement, so that it can be taken once only. */
  async take(tokenHash: string, now: number): Promise<SignUp | undefined> {
    const sql = `DELETE FROM sign_ups WHERE token_hash = $1 AND expires_at > $2 RETURNING ${SIGN_UP.columns}`;
    const [row] = await this.#driver.write(sql, [tokenHash, now]);
    return row && SIGN_UP.read(row);
  }

  async sweep(limit: number, now: number): Promise<number> {
    const sql = `DELETE FROM sign_ups WHERE token_hash IN (
        SELECT token_hash FROM sign_ups WHERE expires_at <= $1 LIMIT $2)
      RETURNING token_hash`;
    return (await this.#driver.write(sql, [now, limit])).length;
  }
}
