import type { ScopeSet } from '../protocol/scope.ts';
import { type ApplicationSecret, insertSecret, secretOf } from './application-secrets.ts';
import type { Driver, Row, Statement } from './drivers/driver.ts';
import { rememberReplacedSecrets } from './retired-secrets.ts';
import { SecretLastUsed } from './secret-last-used.ts';

export type Application = {
  readonly clientId: string;
  readonly ownerId: string;
  readonly name: string;
  readonly homepageUrl: string | null;
  readonly redirectUris: readonly string[];
  /** Every scope it may ask for; those in `optionalScope` the user may leave out. */
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly disabledAt: number | null;
  /** What the operator disabled its owner cannot enable. */
  readonly disabledBy: 'owner' | 'operator' | null;
  readonly secrets: readonly ApplicationSecret[];
};

export type NewApplication = Pick<
  Application,
  'clientId' | 'ownerId' | 'name' | 'redirectUris' | 'scope' | 'optionalScope'
> & { readonly homepageUrl?: string | null; readonly secret: string; readonly now: number };

export type ApplicationChanges = Pick<
  Application,
  'name' | 'homepageUrl' | 'redirectUris' | 'scope' | 'optionalScope'
>;

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

const MAX_CACHED = 10_000;
/** Every client_id that was ever given out looks like this; anything else is not worth a question to the database. */
const CLIENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Every token request needs its application, and applications hardly ever change, so
 * they are kept in memory until this process or another changes one.
 */
export class SqlApplications {
  readonly #driver: Driver;
  /** Uses of secrets that may not be written yet. */
  readonly secretLastUsed: SecretLastUsed;
  #cache = new Map<string, Application>();

  constructor(driver: Driver) {
    this.#driver = driver;
    this.secretLastUsed = new SecretLastUsed(driver);
    driver.onExternalChange(() => this.#forgetAll());
  }

  /** From memory; a change made by any process is seen within a second. */
  find(clientId: string): Promise<Application | undefined> | Application {
    return this.#cache.get(clientId) ?? this.#load(clientId);
  }

  async #load(clientId: string): Promise<Application | undefined> {
    if (!CLIENT_ID.test(clientId)) return undefined;
    const cache = this.#cache;
    const [rows, secrets] = await Promise.all([
      this.#driver.read(`SELECT ${APPLICATION_COLUMNS} FROM applications WHERE client_id = $1`, [clientId]),
      this.#driver.read('SELECT * FROM application_secrets WHERE client_id = $1 ORDER BY created_at, id', [
        clientId,
      ]),
    ]);
    if (!rows[0]) return undefined;
    const application = applicationOf(rows[0], secrets);
    // A change during the read has put a new map in place: what was read before it must not be kept.
    if (cache === this.#cache) {
      if (cache.size >= MAX_CACHED) cache.clear();
      cache.set(clientId, application);
    }
    return application;
  }

  /** Called for every authenticated request, so it only remembers the time; a timer writes it. */
  recordSecretUse(clientId: string, secretId: string, now: number): void {
    this.secretLastUsed.record(clientId, secretId, now);
  }

  close(): Promise<void> {
    return this.secretLastUsed.close();
  }

  async list(): Promise<Application[]> {
    const [rows, secrets] = await Promise.all([
      this.#driver.read(`SELECT ${APPLICATION_COLUMNS} FROM applications ORDER BY created_at, client_id`),
      this.#driver.read('SELECT * FROM application_secrets ORDER BY created_at, id'),
    ]);
    const byClient = Map.groupBy(secrets, (row) => row.client_id);
    return rows.map((row) => applicationOf(row, byClient.get(row.client_id!) ?? []));
  }

  async create(application: NewApplication): Promise<void> {
    const { clientId, secret, now } = application;
    await this.change([insertApplication(application), insertSecret(clientId, secret, now)]);
  }

  /** By the operator. */
  async setDisabled(clientId: string, disabled: boolean, now: number): Promise<boolean> {
    const sql = `UPDATE applications SET disabled_at = $2, disabled_by = $3, updated_at = $4
      WHERE client_id = $1 RETURNING client_id`;
    const values = disabled ? [clientId, now, 'operator', now] : [clientId, null, null, now];
    const [rows] = await this.change([{ sql, values }]);
    return rows!.length > 0;
  }

  /** Adds a secret; the earlier ones end at `othersExpireAt`. False when there is no such application. */
  async rotateSecret(
    clientId: string,
    secret: string,
    othersExpireAt: number,
    now: number,
  ): Promise<boolean> {
    // Two may be live: the newest of those there, until the overlap ends, and the one that is added.
    const [, , , added] = await this.change([
      rememberReplacedSecrets(clientId, now),
      {
        sql: `DELETE FROM application_secrets WHERE client_id = $1 AND id <> (
            SELECT id FROM application_secrets WHERE client_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1)`,
        values: [clientId],
      },
      {
        sql: `UPDATE application_secrets SET expires_at = $2
          WHERE client_id = $1 AND (expires_at IS NULL OR expires_at > $2)`,
        values: [clientId, othersExpireAt],
      },
      insertSecret(clientId, secret, now),
    ]);
    return added!.length > 0;
  }

  async delete(clientId: string): Promise<boolean> {
    const [, rows] = await this.change([
      { sql: 'DELETE FROM application_secrets WHERE client_id = $1', values: [clientId] },
      { sql: 'DELETE FROM applications WHERE client_id = $1 RETURNING client_id', values: [clientId] },
    ]);
    return rows!.length > 0;
  }

  /** Applies the statements in one transaction and makes every process forget the applications it knows. */
  async change(statements: readonly Statement[]): Promise<Row[][]> {
    const rows = await this.#driver.transaction([...statements, ...this.#driver.notifyStatements]);
    this.#forgetAll();
    return rows;
  }

  #forgetAll(): void {
    this.#cache = new Map();
  }
}
