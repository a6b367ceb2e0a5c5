import type { Driver, Statement } from './drivers/driver.ts';
import { number, type ObjectOf, RowType, text } from './row-type.ts';

const RETIRED_SECRET = new RowType({
  retiredAt: number('retired_at'),
  retiredReason: text<'removed' | 'expired'>('retired_reason'),
});

type RetiredSecret = ObjectOf<typeof RETIRED_SECRET>;

/**
 * The hash of a removed secret stays for a while, so that the request log can distinguish an old secret from a wrong
 * one. It does not authenticate anybody.
 */
const RETIRE = 'INSERT INTO retired_secrets (client_id, hash, retired_at, retired_reason)';

/** Must run before the statement that removes expired secrets. */
export function retireExpiredSecrets(clientId: string, ownerId: string, now: number): Statement {
  return {
    sql: `${RETIRE} SELECT client_id, hash, expires_at, 'expired' FROM application_secrets
      WHERE client_id = $1 AND expires_at <= $3
        AND EXISTS (SELECT 1 FROM applications WHERE client_id = $1 AND owner_id = $2)
      ON CONFLICT DO NOTHING`,
    values: [clientId, ownerId, now],
  };
}

/** Must run before the statement that removes all secrets but the newest. */
export function retireReplacedSecrets(clientId: string, now: number): Statement {
  return {
    sql: `${RETIRE} SELECT client_id, hash,
        CASE WHEN expires_at <= $2 THEN expires_at ELSE CAST($2 AS BIGINT) END,
        CASE WHEN expires_at <= $2 THEN 'expired' ELSE 'removed' END
      FROM application_secrets WHERE client_id = $1 AND id <> (
        SELECT id FROM application_secrets WHERE client_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1)
      ON CONFLICT DO NOTHING`,
    values: [clientId, now],
  };
}

/** Must run before the statement that removes the secret, and has the same condition. */
export function retireSecret(clientId: string, ownerId: string, secretId: string, now: number): Statement {
  return {
    sql: `${RETIRE} SELECT client_id, hash, CAST($4 AS BIGINT), 'removed' FROM application_secrets
      WHERE client_id = $1 AND id = $3
        AND EXISTS (SELECT 1 FROM applications WHERE client_id = $1 AND owner_id = $2)
        AND EXISTS (SELECT 1 FROM application_secrets other
          WHERE other.client_id = $1 AND other.id <> $3 AND other.expires_at IS NULL)
      ON CONFLICT DO NOTHING`,
    values: [clientId, ownerId, secretId, now],
  };
}

/** Per application. Only the newest help to explain a failure, and its owner can make any number. */
const MAX_RETIRED = 50;

const NOT_NEWEST = `hash NOT IN (
    SELECT hash FROM retired_secrets WHERE client_id = $1 ORDER BY retired_at DESC, hash LIMIT ${MAX_RETIRED})`;

/** Must run after the statements that retire secrets. */
export function trimRetiredSecrets(clientId: string): Statement {
  return { sql: `DELETE FROM retired_secrets WHERE client_id = $1 AND ${NOT_NEWEST}`, values: [clientId] };
}

/** As `trimRetiredSecrets`, for the owner. */
export function trimOwnRetiredSecrets(clientId: string, ownerId: string): Statement {
  return {
    sql: `DELETE FROM retired_secrets WHERE client_id = $1 AND ${NOT_NEWEST}
        AND EXISTS (SELECT 1 FROM applications WHERE client_id = $1 AND owner_id = $2)`,
    values: [clientId, ownerId],
  };
}

export class SqlRetiredSecrets {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async find(clientId: string, hash: string): Promise<RetiredSecret | undefined> {
    const sql = `SELECT ${RETIRED_SECRET.columns} FROM retired_secrets WHERE client_id = $1 AND hash = $2`;
    const [row] = await this.#driver.read(sql, [clientId, hash]);
    return row && RETIRED_SECRET.read(row);
  }

  async sweep(limit: number, before: number): Promise<void> {
    const sql = `DELETE FROM retired_secrets WHERE (client_id, hash) IN (
        SELECT client_id, hash FROM retired_secrets WHERE retired_at <= $1 LIMIT $2)`;
    await this.#driver.write(sql, [before, limit]);
  }
}
