import type { Profile } from '../protocol/claims.ts';
import { type Driver, DuplicateKey, type Row } from './drivers/driver.ts';

export type User = Profile & {
  readonly passwordHash: string;
  readonly createdAt: number;
  readonly disabledAt: number | null;
};

export type NewUser = {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string | null;
  readonly passwordHash: string;
  readonly now: number;
};

export type DeletedUser = { readonly grantsRevoked: number };

export type ProfileChanges = Pick<Profile, 'name' | 'preferredUsername' | 'picture' | 'locale'>;

const COLUMNS = `id, email, email_verified_at, name, preferred_username, picture, locale, updated_at,
  password_hash, created_at, disabled_at`;

/** Addresses are compared without regard to case; what the user typed is what is shown. */
export const emailKey = (email: string): string => email.trim().toLowerCase();

function profileOf(row: Row): Profile {
  return {
    id: row.id as string,
    email: row.email as string,
    emailVerified: row.email_verified_at !== null,
    name: row.name as string | null,
    preferredUsername: row.preferred_username as string | null,
    picture: row.picture as string | null,
    locale: row.locale as string | null,
    updatedAt: Number(row.updated_at),
  };
}

function userOf(row: Row): User {
  return {
    ...profileOf(row),
    passwordHash: row.password_hash as string,
    createdAt: Number(row.created_at),
    disabledAt: row.disabled_at === null ? null : Number(row.disabled_at),
  };
}

export class SqlUsers {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async create(user: NewUser): Promise<'created' | 'email_taken'> {
    const verifiedAt = user.emailVerified ? user.now : null;
    try {
      await this.#driver.transaction([
        {
          sql: 'INSERT INTO user_emails (email, user_id) VALUES ($1, $2)',
          values: [emailKey(user.email), user.id],
        },
        {
          sql: `INSERT INTO users (id, email, email_verified_at, name, password_hash, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6, $6)`,
          values: [user.id, user.email.trim(), verifiedAt, user.name, user.passwordHash, user.now],
        },
      ]);
      return 'created';
    } catch (error) {
      if (error instanceof DuplicateKey) return 'email_taken';
      throw error;
    }
  }

  async find(id: string): Promise<User | undefined> {
    const [row] = await this.#driver.read(`SELECT ${COLUMNS} FROM users WHERE id = $1`, [id]);
    return row && userOf(row);
  }

  async findByEmail(email: string): Promise<User | undefined> {
    const [row] = await this.#driver.read('SELECT user_id FROM user_emails WHERE email = $1', [
      emailKey(email),
    ]);
    return row && this.find(row.user_id as string);
  }

  async list(): Promise<User[]> {
    const rows = await this.#driver.read(`SELECT ${COLUMNS} FROM users ORDER BY created_at, id`);
    return rows.map(userOf);
  }

  async setDisabled(id: string, disabled: boolean, now: number): Promise<boolean> {
    const sql = 'UPDATE users SET disabled_at = $2 WHERE id = $1 RETURNING id';
    return (await this.#driver.write(sql, [id, disabled ? now : null])).length > 0;
  }

  /** Ends every session of the user except `keepSession`. */
  async setPassword(id: string, passwordHash: string, now: number, keepSession = ''): Promise<boolean> {
    const [changed] = await this.#driver.transaction([
      {
        sql: 'UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1 RETURNING id',
        values: [id, passwordHash, now],
      },
      { sql: 'DELETE FROM sessions WHERE user_id = $1 AND id_hash <> $2', values: [id, keepSession] },
      // Links asked for before must not undo it.
      { sql: "DELETE FROM mail_links WHERE user_id = $1 AND purpose = 'reset_password'", values: [id] },
    ]);
    return changed!.length > 0;
  }

  /** With `email`: only while it is still the user's address. */
  async verifyEmail(id: string, now: number, email = ''): Promise<boolean> {
    const sql = `UPDATE users SET email_verified_at = COALESCE(email_verified_at, $2)
      WHERE id = $1 AND ($3 = '' OR email = $3) RETURNING id`;
    return (await this.#driver.write(sql, [id, now, email])).length > 0;
  }

  async changeProfile(id: string, profile: ProfileChanges, now: number): Promise<boolean> {
    const { name, preferredUsername, picture, locale } = profile;
    const sql = `UPDATE users SET name = $2, preferred_username = $3, picture = $4, locale = $5, updated_at = $6
      WHERE id = $1 RETURNING id`;
    const values = [id, name, preferredUsername, picture, locale, now];
    return (await this.#driver.write(sql, values)).length > 0;
  }

  /**
   * Changes to an address that was just verified. `stale`: `from` is no longer the user's address. The later
   * statements take effect only when the first one did.
   */
  async changeEmail(
    id: string,
    from: string,
    to: string,
    now: number,
  ): Promise<'changed' | 'taken' | 'stale'> {
    const changed = 'EXISTS (SELECT 1 FROM users WHERE id = $1 AND email = $2)';
    try {
      const [rows] = await this.#driver.transaction([
        {
          sql: `UPDATE users SET email = $2, email_verified_at = $4, updated_at = $4
            WHERE id = $1 AND email = $3 RETURNING id`,
          values: [id, to, from, now],
        },
        {
          sql: `INSERT INTO user_emails (email, user_id) SELECT CAST($3 AS TEXT), CAST($1 AS TEXT) WHERE ${changed}`,
          values: [id, to, emailKey(to)],
        },
        {
          sql: `DELETE FROM user_emails WHERE email = $3 AND user_id = $1 AND ${changed}`,
          values: [id, to, emailKey(from)],
        },
        // Links that went to the old address must not open the account any more.
        { sql: 'DELETE FROM mail_links WHERE user_id = $1', values: [id] },
      ]);
      return rows!.length > 0 ? 'changed' : 'stale';
    } catch (error) {
      if (error instanceof DuplicateKey) return 'taken';
      throw error;
    }
  }

  /**
   * Revokes every grant, and removes the user with everything stored about them. Revoked grants stay until they
   * would have expired: they hold no more than ids.
   */
  async delete({ id, email }: Pick<User, 'id' | 'email'>, now: number): Promise<DeletedUser | undefined> {
    const removeFrom = (table: string) => ({
      sql: `DELETE FROM ${table} WHERE user_id = $1`,
      values: [id],
    });
    const rows = await this.#driver.transaction([
      {
        sql: `UPDATE grants SET revoked_at = $2, revoked_reason = 'account_deleted', redirect_uri = NULL, code_challenge = NULL
          WHERE user_id = $1 AND revoked_at IS NULL RETURNING id`,
        values: [id, now],
      },
      removeFrom('sessions'),
      removeFrom('mail_links'),
      removeFrom('security_events'),
      { sql: 'DELETE FROM user_emails WHERE email = $2 AND user_id = $1', values: [id, emailKey(email)] },
      { sql: 'DELETE FROM users WHERE id = $1 RETURNING id', values: [id] },
    ]);
    return rows.at(-1)!.length > 0 ? { grantsRevoked: rows[0]!.length } : undefined;
  }
}
