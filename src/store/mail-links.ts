import type { Driver } from './drivers/driver.ts';

export type LinkPurpose = 'verify_email' | 'change_email' | 'reset_password';

export class SqlMailLinks {
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

  /** The email address of a live link. */
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

  /** Finds and removes the link in one statement, so that it works once only. */
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
