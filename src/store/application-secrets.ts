import { hashClientSecret } from '../protocol/client-secret.ts';
import { newId } from '../protocol/credentials.ts';
import type { Statement } from './drivers/driver.ts';
import { nullableNumber, number, type ObjectOf, RowType, text } from './row-type.ts';

export const SECRET = new RowType({
  id: text('id'),
  hash: text('hash'),
  /** The last four characters, by which its owner recognises it. */
  tail: text('tail'),
  createdAt: number('created_at'),
  expiresAt: nullableNumber('expires_at'),
  lastUsedAt: nullableNumber('last_used_at'),
});

export type ApplicationSecret = ObjectOf<typeof SECRET>;

/** `where` is the condition on application_secrets. */
export const selectSecrets = (where: string): string =>
  `SELECT client_id, ${SECRET.columns} FROM application_secrets WHERE ${where} ORDER BY created_at, id`;

/**
 * The secret of an application that the same transaction creates. Without SELECT: on Citus, INSERT … SELECT on reference
 * tables deadlocks when two applications are created at once.
 */
export function insertFirstSecret(clientId: string, secret: string, now: number): Statement {
  return {
    sql: 'INSERT INTO application_secrets (client_id, id, hash, tail, created_at) VALUES ($1, $2, $3, $4, $5)',
    values: [clientId, newId(), hashClientSecret(secret), secret.slice(-4), now],
  };
}

/** Adds nothing when there is no such application. */
export function insertSecret(clientId: string, secret: string, now: number): Statement {
  return {
    sql: `INSERT INTO application_secrets (client_id, id, hash, tail, created_at)
      SELECT client_id, $2, $3, $4, CAST($5 AS BIGINT) FROM applications WHERE client_id = $1
      RETURNING id`,
    values: [clientId, newId(), hashClientSecret(secret), secret.slice(-4), now],
  };
}
