import type { Driver } from './drivers/driver.ts';
import { number, type ObjectOf, RowType, text } from './row-type.ts';
import type { SqlUsers, User } from './users.ts';

type NewSession = {
  readonly idHash: string;
  readonly userId: string;
  readonly now: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly userAgent: string;
  /** The session is created only while this is the user's password: a new one ends all sessions. */
  readonly passwordHash?: string;
};

/** A new session ends the oldest beyond it: a user can sign in without limit. */
const MAX_PER_USER = 100;

const DELETE_OLDEST = `
  DELETE FROM sessions WHERE id_hash IN (
    SELECT id_hash FROM sessions WHERE user_id = $1 AND id_hash <> $2
    ORDER BY created_at DESC, id_hash LIMIT 1000 OFFSET ${MAX_PER_USER - 1})`;

const SESSION = new RowType({
  idHash: text('id_hash'),
  createdAt: number('created_at'),
  address: text('address'),
  userAgent: text('user_agent'),
});

export type Session = ObjectOf<typeof SESSION>;

export class SqlSessions {
  readonly #driver: Driver;
  readonly #users: SqlUsers;

  constructor(driver: Driver, users: SqlUsers) {
    this.#driver = driver;
    this.#users = users;
  }

  async create({ passwordHash, ...session }: NewSession): Promise<boolean> {
    const { idHash, userId, now, expiresAt, address, userAgent } = session;
    const values = [idHash, userId, now, expiresAt, address, userAgent];
    const source =
      passwordHash === undefined
        ? 'VALUES ($1, $2, $3, $4, $5, $6)'
        : `SELECT CAST($1 AS TEXT), id, CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS TEXT), CAST($6 AS TEXT)
            FROM users WHERE id = $2 AND password_hash = $7`;
    const [created] = await this.#driver.transaction([
      {
        sql: `INSERT INTO sessions (id_hash, user_id, created_at, expires_at, address, user_agent) ${source}
          RETURNING id_hash`,
        values: passwordHash === undefined ? values : [...values, passwordHash],
      },
      { sql: DELETE_OLDEST, values: [userId, idHash] },
    ]);
    return created!.length > 0;
  }

  /** The user of a live session, unless disabled. */
  async findUser(idHash: string, now: number): Promise<User | undefined> {
    const sql = 'SELECT user_id FROM sessions WHERE id_hash = $1 AND expires_at > $2';
    const [row] = await this.#driver.read(sql, [idHash, now]);
    const user = row && (await this.#users.find(row.user_id as string));
    return user?.disabledAt === null ? user : undefined;
  }

  async end(idHash: string): Promise<void> {
    await this.#driver.write('DELETE FROM sessions WHERE id_hash = $1', [idHash]);
  }

  /** The user's live sessions, newest first. */
  async list(userId: string, now: number): Promise<Session[]> {
    const sql = `SELECT ${SESSION.columns} FROM sessions
      WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC, id_hash LIMIT ${MAX_PER_USER}`;
    return (await this.#driver.read(sql, [userId, now])).map((row) => SESSION.read(row));
  }

  /** False when the session is not this user's. */
  async endOf(userId: string, idHash: string): Promise<boolean> {
    const sql = 'DELETE FROM sessions WHERE id_hash = $1 AND user_id = $2 RETURNING id_hash';
    return (await this.#driver.write(sql, [idHash, userId])).length > 0;
  }

  async endOthers(userId: string, keep: string): Promise<number> {
    const sql = 'DELETE FROM sessions WHERE user_id = $1 AND id_hash <> $2 RETURNING id_hash';
    return (await this.#driver.write(sql, [userId, keep])).length;
  }

  async sweep(limit: number, now: number): Promise<number> {
    const sql = `DELETE FROM sessions WHERE id_hash IN (SELECT id_hash FROM sessions WHERE expires_at <= $1 LIMIT $2)
      RETURNING id_hash`;
    return (await this.#driver.write(sql, [now, limit])).length;
  }
}
