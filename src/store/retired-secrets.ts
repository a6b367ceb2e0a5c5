import type { Driver, Statement } from './drivers/driver.ts';
import { number, type ObjectOf, RowType, text } from './row-type.ts';

const RETIRED_SECRET = new RowType({
  retiredAt: number('retired_at'),
  retiredReason: text<'removed' | 'expired'>('retired_reason'),
});

type RetiredSecret = ObjectOf<typeof RETIRED_SECRET>;

/**
 * A secret that is removed leaves its hash behind for a while: a request that still brings it can then be
 * told apart from one with a wrong secret, in the application's request log. Nobody is let in by it.
 */
const REMEMBER = 'INSERT INTO retired_secrets (client_id, hash, retired_at, retired_reason)';

/** Goes before the statement that removes what has expired. */
export function rememberExpiredSecrets(clientId: string, now: number): Statement {
  return {
    sql: `${REMEMBER} SELECT client_id, hash, expires_at, 'expired' FROM application_secrets
      WHERE client_id = $1 AND expires_at <= $2
      ON CONFLICT DO NOTHING`,
    values: [clientId, now],
  };
}

/** Goes before the statement that removes all secrets but the newest. */
export function rememberReplacedSecrets(clientId: string, now: number): Statement {
  return {
    sql: `${REMEMBER} SELECT client_id, hash,
        CASE WHEN expires_at <= $2 THEN expires_at ELSE CAST($2 AS BIGINT) END,
        CASE WHEN expires_at <= $2 THEN 'expired' ELSE 'removed' END
      FROM application_secrets WHERE client_id = $1 AND id <> (
        SELECT id FROM application_secrets WHERE client_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1)
      ON CONFLICT DO NOTHING`,
    values: [clientId, now],
  };
}

/** Goes before the statement that removes the secret, with the same condition. */
export function rememberRemovedSecret(
  clientId: string,
  ownerId: string,
  secretId: string,
  now: number,
): Statement {
  return {
    sql: `${REMEMBER} SELECT client_id, hash, CAST($4 AS BIGINT), 'removed' FROM application_secrets
      WHERE client_id = $1 AND id = $3
        AND EXISTS (SELECT 1 FROM applications WHERE client_id = $1 AND owner_id = $2)
        AND EXISTS (SELECT 1 FROM application_secrets other
          WHERE other.client_id = $1 AND other.id <> $3 AND other.expires_at IS NULL)
      ON CONFLICT DO NOTHING`,
    values: [clientId, ownerId, secretId, now],
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
