import type { Driver } from './drivers/driver.ts';
import { number, type ObjectOf, RowType, text } from './row-type.ts';

export type LinkPurpose = 'verify_email' | 'change_email' | 'undo_email_change' | 'reset_password';

const LINK = new RowType({
  email: text('email'),
  expiresAt: number('expires_at'),
});
export type MailLink = ObjectOf<typeof LINK>;

type NewMailLink = MailLink & {
  readonly userId: string;
  readonly tokenHash: string;
  readonly purpose: LinkPurpose;
  /** The link is created only while this is the user's password: a new one ends all links requested before it. */
  readonly passwordHash?: string;
};

export class SqlMailLinks {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async create({
    userId,
    tokenHash,
    purpose,
    email,
    expiresAt,
    passwordHash,
  }: NewMailLink): Promise<boolean> {
    const values = [userId, tokenHash, purpose, email, expiresAt];
    const source =
      passwordHash === undefined
        ? 'VALUES ($1, $2, $3, $4, $5)'
        : `SELECT id, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT)
            FROM users WHERE id = $1 AND password_hash = $6`;
    const created = await this.#driver.write(
      `INSERT INTO mail_links (user_id, token_hash, purpose, email, expires_at) ${source} RETURNING token_hash`,
      passwordHash === undefined ? values : [...values, passwordHash],
    );
    return created.length > 0;
  }

  async find(
    userId: string,
    tokenHash: string,
    purpose: LinkPurpose,
    now: number,
  ): Promise<MailLink | undefined> {
    const sql = `SELECT ${LINK.columns} FROM mail_links
      WHERE user_id = $1 AND token_hash = $2 AND purpose = $3 AND expires_at > $4`;
    const [row] = await this.#driver.read(sql, [userId, tokenHash, purpose, now]);
    return row && LINK.read(row);
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
