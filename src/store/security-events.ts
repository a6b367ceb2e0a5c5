import type { Driver } from './drivers/driver.ts';
import type { RevokedReason } from './grants.ts';

export type SecurityEventKind =
  | 'signed_up'
  | 'signed_in'
  | 'failed_sign_ins'
  | 'password_changed'
  | 'password_reset'
  | 'email_verified'
  | 'email_changed'
  | 'session_ended'
  | 'granted'
  | 'disconnected'
  | Extract<RevokedReason, 'refresh_token_reuse' | 'code_replay'>;

export type SecurityEvent = {
  readonly at: number;
  readonly kind: SecurityEventKind;
  readonly clientId: string | null;
  readonly address: string;
  readonly userAgent: string;
};

/** Two events of one id are one event. */
export type NewSecurityEvent = Omit<SecurityEvent, 'clientId'> & {
  readonly userId: string;
  readonly id: string;
  readonly clientId?: string;
};

/** So many are kept of each user: whoever makes many must not be able to fill the disk. */
const MAX_PER_USER = 100;

const INSERT = `
  INSERT INTO security_events (user_id, id, happened_at, kind, client_id, address, user_agent)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT DO NOTHING`;

const FORGET_OLD = `
  DELETE FROM security_events WHERE user_id = $1 AND happened_at < (
    SELECT MIN(happened_at) FROM (
      SELECT happened_at FROM security_events WHERE user_id = $1 ORDER BY happened_at DESC LIMIT $2) AS newest)`;

export class SqlSecurityEvents {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async record(event: NewSecurityEvent): Promise<void> {
    const { userId, id, at, kind, clientId = null, address, userAgent } = event;
    await this.#driver.transaction([
      { sql: INSERT, values: [userId, id, at, kind, clientId, address, userAgent] },
      { sql: FORGET_OLD, values: [userId, MAX_PER_USER] },
    ]);
  }

  async list(userId: string, limit: number): Promise<SecurityEvent[]> {
    const sql = `SELECT happened_at, kind, client_id, address, user_agent FROM security_events
      WHERE user_id = $1 ORDER BY happened_at DESC, id LIMIT $2`;
    const rows = await this.#driver.read(sql, [userId, limit]);
    return rows.map((row) => ({
      at: Number(row.happened_at),
      kind: row.kind as SecurityEventKind,
      clientId: row.client_id as string | null,
      address: row.address as string,
      userAgent: row.user_agent as string,
    }));
  }

  async sweep(limit: number, before: number): Promise<number> {
    const sql = `DELETE FROM security_events WHERE (user_id, id) IN (
        SELECT user_id, id FROM security_events WHERE happened_at <= $1 LIMIT $2)
      RETURNING id`;
    return (await this.#driver.write(sql, [before, limit])).length;
  }
}
