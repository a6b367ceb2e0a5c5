import { hashClientSecret } from '../protocol/client-secret.ts';
import { newId } from '../protocol/credentials.ts';
import type { Row, Statement } from './drivers/driver.ts';
import type { Application, ApplicationSecret, NewApplication } from './store.ts';

export const APPLICATION_COLUMNS = `client_id, owner_id, name, homepage_url, redirect_uris, scope, optional_scope,
  created_at, updated_at, disabled_at, disabled_by`;

export function insertApplication(application: NewApplication): Statement {
  const {
    clientId,
    ownerId,
    name,
    homepageUrl = null,
    redirectUris,
    scope,
    optionalScope,
    now,
  } = application;
  const uris = JSON.stringify(redirectUris);
  return {
    sql: `INSERT INTO applications
        (client_id, owner_id, name, homepage_url, redirect_uris, scope, optional_scope, created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
    values: [clientId, ownerId, name, homepageUrl, uris, scope, optionalScope, now],
  };
}

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

export function applicationOf(row: Row, secrets: readonly Row[]): Application {
  return {
    clientId: row.client_id as string,
    ownerId: row.owner_id as string,
    name: row.name as string,
    homepageUrl: row.homepage_url as string | null,
    redirectUris: JSON.parse(row.redirect_uris as string) as string[],
    scope: Number(row.scope),
    optionalScope: Number(row.optional_scope),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    disabledAt: nullableNumber(row.disabled_at),
    disabledBy: row.disabled_by as Application['disabledBy'],
    secrets: secrets.map(secretOf),
  };
}

function secretOf(row: Row): ApplicationSecret {
  return {
    id: row.id as string,
    hash: row.hash as string,
    tail: row.tail as string,
    createdAt: Number(row.created_at),
    expiresAt: nullableNumber(row.expires_at),
    lastUsedAt: nullableNumber(row.last_used_at),
  };
}
