import type { RevokedReason } from '../protocol/failure-reason.ts';
import type { Driver } from './drivers/driver.ts';
import {
  type InputOf,
  nullableText,
  number,
  type ObjectOf,
  placeholders,
  RowType,
  text,
  WritableRowType,
} from './row-type.ts';

export type SecurityEventKind =
  | 'signed_up'
  | 'signed_in'
  | 'failed_sign_ins'
  | 'password_changed'
  | 'password_reset'
  | 'email_verified'
  | 'email_changed'
  | 'email_change_undone'
  | 'session_ended'
  | 'granted'
  | 'disconnected'
  | Extract<RevokedReason, 'refresh_token_reuse' | 'code_replay'>;

const EVENT = new RowType({
  at: number('happened_at'),
  kind: text<SecurityEventKind>('kind'),
  clientId: nullableText('client_id'),
  address: text('address'),
  userAgent: text('user_agent'),
});

const NEW_EVENT = new WritableRowType({ ...EVENT.fields, userId: text('user_id'), id: text('id') });

export type SecurityEvent = ObjectOf<typeof EVENT>;
/** Recording two events with the same id records one. */
type NewSecurityEvent = InputOf<typeof NEW_EVENT>;

/** Bounded, because a user can cause events without limit. */
const MAX_PER_USER = 100;

const DELETE_OLDEST = `
  DELETE FROM security_events WHERE user_id = $1 AND happened_at < (
    SELECT MIN(happened_at) FROM (
      SELECT happened_at FROM security_events WHERE user_id = $1 ORDER BY happened_at DESC LIMIT $2) AS newest)`;

export class SqlSecurityEvents {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async record(event: NewSecurityEvent): Promise<void> {
    const values = NEW_EVENT.write(event);
    await this.#driver.transaction([
      {
        sql: `INSERT INTO security_events (${NEW_EVENT.columns}) VALUES (${placeholders(values.length)})
          ON CONFLICT DO NOTHING`,
        values,
      },
      { sql: DELETE_OLDEST, values: [event.userId, MAX_PER_USER] },
    ]);
  }

  async list(userId: string, limit: number): Promise<SecurityEvent[]> {
    const sql = `SELECT ${EVENT.columns} FROM security_events
      WHERE user_id = $1 ORDER BY happened_at DESC, id LIMIT $2`;
    return (await this.#driver.read(sql, [userId, limit])).map((row) => EVENT.read(row));
  }

  async sweep(limit: number, before: number): Promise<number> {
    const sql = `DELETE FROM security_events WHERE (user_id, id) IN (
        SELECT user_id, id FROM security_events WHERE happened_at <= $1 LIMIT $2)
      RETURNING id`;
    return (await this.#driver.write(sql, [before, limit])).length;
  }
}
