import type { Driver } from './drivers/driver.ts';

/** A requested account. No user exists until the email address is verified. */
export type SignUp = {
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
  readonly browserHash: string;
};

export type NewSignUp = SignUp & { readonly tokenHash: string; readonly expiresAt: number };

const COLUMNS = 'email, name, password_hash, browser_hash';

type SignUpRow = {
  readonly email: string;
  readonly name: string;
  readonly password_hash: string;
  readonly browser_hash: string;
};

const signUpOf = (row: unknown): SignUp => {
  const { email, name, password_hash, browser_hash } = row as SignUpRow;
  return { email, name, passwordHash: password_hash, browserHash: browser_hash };
};

export class SqlSignUps {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async create({ tokenHash, email, name, passwordHash, browserHash, expiresAt }: NewSignUp): Promise<void> {
    await this.#driver.write(
      `INSERT INTO sign_ups (token_hash, email, name, password_hash, browser_hash, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6)`,
      [tokenHash, email, name, passwordHash, browserHash, expiresAt],
    );
  }

  async find(tokenHash: string, now: number): Promise<SignUp | undefined> {
    const sql = `SELECT ${COLUMNS} FROM sign_ups WHERE token_hash = $1 AND expires_at > $2`;
    const [row] = await this.#driver.read(sql, [tokenHash, now]);
    return row && signUpOf(row);
  }

  /** Finds and removes it in one statement, so that it can be taken once only. */
  async take(tokenHash: string, now: number): Promise<SignUp | undefined> {
    const sql = `DELETE FROM sign_ups WHERE token_hash = $1 AND expires_at > $2 RETURNING ${COLUMNS}`;
    const [row] = await this.#driver.write(sql, [tokenHash, now]);
    return row && signUpOf(row);
  }

  async sweep(limit: number, now: number): Promise<number> {
    const sql = `DELETE FROM sign_ups WHERE token_hash IN (
        SELECT token_hash FROM sign_ups WHERE expires_at <= $1 LIMIT $2)
      RETURNING token_hash`;
    return (await this.#driver.write(sql, [now, limit])).length;
  }
}
