import { hashClientSecret } from '../protocol/client-secret.ts';
import { newId } from '../protocol/credentials.ts';
import type { Driver, Row, Statement } from './driver.ts';
import type { Application, ApplicationSecret, ApplicationStore, NewApplication } from './store.ts';

const LARGEST_CACHE = 10_000;
/** Every client_id that was ever given out looks like this; anything else is not worth a question to the database. */
const CLIENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

const COLUMNS =
  'client_id, owner_id, name, redirect_uris, scope, optional_scope, created_at, updated_at, disabled_at';

/**
 * Every token request needs its application, and applications hardly ever change, so
 * they are kept in memory until this process or another changes one.
 */
export class Applications implements ApplicationStore {
  readonly #driver: Driver;
  #cache = new Map<string, Application>();

  constructor(driver: Driver) {
    this.#driver = driver;
    driver.onForeignChange(() => this.#forgetAll());
  }

  find(clientId: string): Promise<Application | undefined> | Application {
    return this.#cache.get(clientId) ?? this.#load(clientId);
  }

  async #load(clientId: string): Promise<Application | undefined> {
    if (!CLIENT_ID.test(clientId)) return undefined;
    const cache = this.#cache;
    const [rows, secrets] = await Promise.all([
      this.#driver.read(`SELECT ${COLUMNS} FROM applications WHERE client_id = $1`, [clientId]),
      this.#driver.read('SELECT * FROM application_secrets WHERE client_id = $1 ORDER BY created_at, id', [
        clientId,
      ]),
    ]);
    if (!rows[0]) return undefined;
    const application = applicationOf(rows[0], secrets);
    // A change during the read has put a new map in place: what was read before it must not be kept.
    if (cache === this.#cache) {
      if (cache.size >= LARGEST_CACHE) cache.clear();
      cache.set(clientId, application);
    }
    return application;
  }

  async list(): Promise<Application[]> {
    const [rows, secrets] = await Promise.all([
      this.#driver.read(`SELECT ${COLUMNS} FROM applications ORDER BY created_at, client_id`),
      this.#driver.read('SELECT * FROM application_secrets ORDER BY created_at, id'),
    ]);
    const byClient = Map.groupBy(secrets, (row) => row.client_id);
    return rows.map((row) => applicationOf(row, byClient.get(row.client_id!) ?? []));
  }

  async create(application: NewApplication): Promise<void> {
    const { clientId, ownerId, name, redirectUris, scope, optionalScope, secret, now } = application;
    await this.#change([
      {
        sql: `INSERT INTO applications
            (client_id, owner_id, name, redirect_uris, scope, optional_scope, created_at, updated_at)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
        values: [clientId, ownerId, name, JSON.stringify(redirectUris), scope, optionalScope, now],
      },
      addSecret(clientId, secret, now),
    ]);
  }

  async setDisabled(clientId: string, disabled: boolean, now: number): Promise<boolean> {
    const sql = `UPDATE applications SET disabled_at = $2, updated_at = $3 WHERE client_id = $1 RETURNING client_id`;
    const [rows] = await this.#change([{ sql, values: [clientId, disabled ? now : null, now] }]);
    return rows!.length > 0;
  }

  async rotateSecret(
    clientId: string,
    secret: string,
    othersExpireAt: number,
    now: number,
  ): Promise<boolean> {
    if (!(await this.#load(clientId))) return false;
    await this.#change([
      {
        sql: 'DELETE FROM application_secrets WHERE client_id = $1 AND expires_at <= $2',
        values: [clientId, now],
      },
      {
        sql: `UPDATE application_secrets SET expires_at = $2
          WHERE client_id = $1 AND (expires_at IS NULL OR expires_at > $2)`,
        values: [clientId, othersExpireAt],
      },
      addSecret(clientId, secret, now),
    ]);
    return true;
  }

  async delete(clientId: string): Promise<boolean> {
    const [, rows] = await this.#change([
      { sql: 'DELETE FROM application_secrets WHERE client_id = $1', values: [clientId] },
      { sql: 'DELETE FROM applications WHERE client_id = $1 RETURNING client_id', values: [clientId] },
    ]);
    return rows!.length > 0;
  }

  async #change(statements: readonly Statement[]): Promise<Row[][]> {
    const rows = await this.#driver.transaction([...statements, ...this.#driver.announcement]);
    this.#forgetAll();
    return rows;
  }

  #forgetAll(): void {
    this.#cache = new Map();
  }
}

function addSecret(clientId: string, secret: string, now: number): Statement {
  return {
    sql: 'INSERT INTO application_secrets (client_id, id, hash, tail, created_at) VALUES ($1, $2, $3, $4, $5)',
    values: [clientId, newId(), hashClientSecret(secret), secret.slice(-4), now],
  };
}

const nullableNumber = (value: Row[string] | undefined): number | null =>
  value === null ? null : Number(value);

function applicationOf(row: Row, secrets: readonly Row[]): Application {
  return {
    clientId: row.client_id as string,
    ownerId: row.owner_id as string,
    name: row.name as string,
    redirectUris: JSON.parse(row.redirect_uris as string) as string[],
    scope: Number(row.scope),
    optionalScope: Number(row.optional_scope),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    disabledAt: nullableNumber(row.disabled_at),
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
