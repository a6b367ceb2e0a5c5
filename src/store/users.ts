import { emailKey } from '../protocol/email-address.ts';
import {
  EDITABLE_FIELDS,
  PROFILE_COLUMNS,
  type Profile,
  type ProfileChanges,
  profileFrom,
} from '../protocol/profile.ts';
import type { Driver, Row, Statement } from './drivers/driver.ts';
import { DuplicateKey } from './errors.ts';
import type { MailLink } from './mail-links.ts';
import {
  nullableNumber,
  nullableText,
  number,
  type ObjectOf,
  RowType,
  text,
  WritableRowType,
} from './row-type.ts';

const PROFILE_CHANGES = new WritableRowType(
  Object.fromEntries(EDITABLE_FIELDS.map(({ property, column }) => [property, nullableText(column)])),
);

/** The columns of `users` that are not in the profile. */
const ACCOUNT = new RowType({
  passwordHash: text('password_hash'),
  createdAt: number('created_at'),
  disabledAt: nullableNumber('disabled_at'),
});

export type User = Profile & ObjectOf<typeof ACCOUNT>;

const COLUMNS = `${PROFILE_COLUMNS.join(', ')}, ${ACCOUNT.columns}`;

const userOf = (row: Row): User => ({
  ...profileFrom(PROFILE_COLUMNS.map((column) => row[column]!)),
  ...ACCOUNT.read(row),
});

type NewUser = {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string | null;
  readonly passwordHash: string;
  readonly now: number;
};

type DeletedUser = { readonly grantsRevoked: number };

/**
 * Links that undo an email change survive later changes: else a thief who changed the address would end them with a
 * new password or a second change.
 */
const NOT_UNDO = "purpose <> 'undo_email_change'";

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

  /** Runs the same statements for an unknown address, so that the time does not disclose which have an account. */
  async findByEmail(email: string): Promise<User | undefined> {
    const [row] = await this.#driver.read('SELECT user_id FROM user_emails WHERE email = $1', [
      emailKey(email),
    ]);
    return this.find((row?.user_id ?? '') as string);
  }

  async list(): Promise<User[]> {
    const rows = await this.#driver.read(`SELECT ${COLUMNS} FROM users ORDER BY created_at, id`);
    return rows.map(userOf);
  }

  async setDisabled(id: string, disabled: boolean, now: number): Promise<boolean> {
    const sql = 'UPDATE users SET disabled_at = $2 WHERE id = $1 RETURNING id';
    return (await this.#driver.write(sql, [id, disabled ? now : null])).length > 0;
  }

  /**
   * Ends every session of the user except `keepSession`, and every mailed link. With `from`: changes the password only
   * while it is that one.
   */
  async setPassword(
    id: string,
    passwordHash: string,
    now: number,
    { keepSession = '', from = '' }: { readonly keepSession?: string; readonly from?: string } = {},
  ): Promise<boolean> {
    const [rows] = await this.#driver.transaction([
      {
        sql: `UPDATE users SET password_hash = $2, updated_at = $3
          WHERE id = $1 AND ($4 = '' OR password_hash = $4) RETURNING id`,
        values: [id, passwordHash, now, from],
      },
      { sql: 'DELETE FROM sessions WHERE user_id = $1 AND id_hash <> $2', values: [id, keepSession] },
      { sql: `DELETE FROM mail_links WHERE user_id = $1 AND ${NOT_UNDO}`, values: [id] },
    ]);
    return rows!.length > 0;
  }

  /** With `email`: only while it is still the user's address. */
  async verifyEmail(id: string, now: number, email = ''): Promise<boolean> {
    const sql = `UPDATE users SET email_verified_at = COALESCE(email_verified_at, $2)
      WHERE id = $1 AND ($3 = '' OR email = $3) RETURNING id`;
    return (await this.#driver.write(sql, [id, now, email])).length > 0;
  }

  /** Changes the given fields and leaves the others as they are. */
  async changeProfile(id: string, changes: Partial<ProfileChanges>, now: number): Promise<boolean> {
    const { sql, values } = PROFILE_CHANGES.assign(changes, 3);
    const list = ['updated_at = $2', ...sql].join(', ');
    const rows = await this.#driver.write(`UPDATE users SET ${list} WHERE id = $1 RETURNING id`, [
      id,
      now,
      ...values,
    ]);
    return rows.length > 0;
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
    return this.#moveEmail([
      {
        sql: `UPDATE users SET email = $2, email_verified_at = $4, updated_at = $4
          WHERE id = $1 AND email = $3 RETURNING id`,
        values: [id, to, from, now],
      },
      ...moveEmailKey(from, to, changed, [id, to]),
      // Links mailed to the old address must not give access to the account.
      { sql: `DELETE FROM mail_links WHERE user_id = $1 AND ${NOT_UNDO} AND ${changed}`, values: [id, to] },
    ]);
  }

  /**
   * Gives the account back to the owner of an earlier address, with a new password: ends every session and mailed
   * link, except links that undo a change before this one. `stale`: address or password changed since `user` was read.
   */
  async undoEmailChange(
    { id, email, passwordHash: oldHash }: Pick<User, 'id' | 'email' | 'passwordHash'>,
    link: MailLink,
    passwordHash: string,
    now: number,
  ): Promise<'changed' | 'taken' | 'stale'> {
    // Each hash has a random salt: no other change has set this one.
    const changed = 'EXISTS (SELECT 1 FROM users WHERE id = $1 AND password_hash = $2)';
    return this.#moveEmail([
      {
        sql: `UPDATE users SET email = $2, email_verified_at = $3, password_hash = $4, updated_at = $3
          WHERE id = $1 AND email = $5 AND password_hash = $6 RETURNING id`,
        values: [id, link.email, now, passwordHash, email, oldHash],
      },
      ...moveEmailKey(email, link.email, changed, [id, passwordHash]),
      { sql: 'DELETE FROM sessions WHERE user_id = $1', values: [id] },
      {
        sql: `DELETE FROM mail_links WHERE user_id = $1 AND (${NOT_UNDO} OR expires_at >= $3) AND ${changed}`,
        values: [id, passwordHash, link.expiresAt],
      },
    ]);
  }

  async #moveEmail(statements: readonly Statement[]): Promise<'changed' | 'taken' | 'stale'> {
    try {
      const [rows] = await this.#driver.transaction(statements);
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

/** Replaces one spelling's key by another; nothing when both are the same. `changed` uses the values $1 and $2. */
function moveEmailKey(
  from: string,
  to: string,
  changed: string,
  values: readonly [id: string, mark: string],
): Statement[] {
  const [fromKey, toKey] = [emailKey(from), emailKey(to)];
  if (fromKey === toKey) return [];
  return [
    {
      sql: `INSERT INTO user_emails (email, user_id) SELECT CAST($3 AS TEXT), CAST($1 AS TEXT) WHERE ${changed}`,
      values: [...values, toKey],
    },
    {
      sql: `DELETE FROM user_emails WHERE email = $3 AND user_id = $1 AND ${changed}`,
      values: [...values, fromKey],
    },
  ];
}
