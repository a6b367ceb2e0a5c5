import type { LinkPurpose, MailLinkStore, NewSignUp, SignUp, SignUpStore } from './account-records.ts';
import type { Driver } from './drivers/driver.ts';

const SIGN_UP_COLUMNS = 'email, name, password_hash, browser_hash';

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

export class SqlSignUps implements SignUpStore {
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
    const sql = `SELECT ${SIGN_UP_COLUMNS} FROM sign_ups WHERE token_hash = $1 AND expires_at > $2`;
    const [row] = await this.#driver.read(sql, [tokenHash, now]);
    return row && signUpOf(row);
  }

  async take(tokenHash: string, now: number): Promise<SignUp | undefined> {
    const sql = `DELETE FROM sign_ups WHERE token_hash = $1 AND expires_at > $2 RETURNING ${SIGN_UP_COLUMNS}`;
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

export class SqlMailLinks implements MailLinkStore {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async create(
    userId: string,
    tokenHash: string,
    purpose: LinkPurpose,
    email: string,
    expiresAt: number,
  ): Promise<void> {
    await this.#driver.write(
      'INSERT INTO mail_links (user_id, token_hash, purpose, email, expires_at) VALUES ($1, $2, $3, $4, $5)',
      [userId, tokenHash, purpose, email, expiresAt],
    );
  }

  async find(
    userId: string,
    tokenHash: string,
    purpose: LinkPurpose,
    now: number,
  ): Promise<string | undefined> {
    const sql = `SELECT email FROM mail_links
      WHERE user_id = $1 AND token_hash = $2 AND purpose = $3 AND expires_at > $4`;
    const [row] = await this.#driver.read(sql, [userId, tokenHash, purpose, now]);
    return row?.email as string | undefined;
  }

  async take(
    userId: string,
    tokenHash: string,
    purpose: LinkPurpose,
    now: number,
  ): Promise<string | undefined> {
    const sql = `DELETE FROM mail_links
      WHERE user_id = $1 AND token_hash = $2 AND purpose = $3 AND expires_at > $4
      RETURNING email`;
    const [row] = await this.#driver.write(sql, [userId, tokenHash, purpose, now]);
    return row?.email as string | undefined;
  }

  async sweep(limit: number, now: number): Promise<number> {
    const sql = `DELETE FROM mail_links WHERE (user_id, token_hash) IN (
        SELECT user_id, token_hash FROM mail_links WHERE expires_at <= $1 LIMIT $2)
      RETURNING token_hash`;
    return (await this.#driver.write(sql, [now, limit])).length;
  }
}
