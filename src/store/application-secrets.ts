import { hashClientSecret } from '../protocol/client-secret.ts';
import { newId } from '../protocol/credentials.ts';
import type { Row, Statement } from './drivers/driver.ts';

export type ApplicationSecret = {
  readonly id: string;
  readonly hash: string;
  /** Its last four characters, to tell one from another. */
  readonly tail: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
};

/** Adds a secret where the application is, and nothing where it is not. */
export function insertSecret(clientId: string, secret: string, now: number): Statement {
  return {
    sql: `INSERT INTO application_secrets (client_id, id, hash, tail, created_at)
      SELECT client_id, $2, $3, $4, CAST($5 AS BIGINT) FROM applications WHERE client_id = $1
      RETURNING id`,
    values: [clientId, newId(), hashClientSecret(secret), secret.slice(-4), now],
  };
}

const nullableNumber = (value: Row[string] | undefined): number | null =>
  value === null ? null : Number(value);

export function secretOf(row: Row): ApplicationSecret {
  return {
    id: row.id as string,
    hash: row.hash as string,
    tail: row.tail as string,
    createdAt: Number(row.created_at),
    expiresAt: nullableNumber(row.expires_at),
    lastUsedAt: nullableNumber(row.last_used_at),
  };
}
