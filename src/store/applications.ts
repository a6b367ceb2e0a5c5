import { couldBeClientId } from '../protocol/client-id.ts';
import {
  type ApplicationSecret,
  insertFirstSecret,
  insertSecret,
  SECRET,
  selectSecrets,
} from './application-secrets.ts';
import type { Driver, Row, Statement } from './drivers/driver.ts';
import { retireReplacedSecrets, trimRetiredSecrets } from './retired-secrets.ts';
import {
  type InputOf,
  json,
  nullableNumber,
  nullableText,
  number,
  type ObjectOf,
  placeholders,
  RowType,
  text,
  WritableRowType,
} from './row-type.ts';
import { SecretLastUsed } from './secret-last-used.ts';

/** A new setting is one more column in a migration and one more line here. */
export const SETTINGS = new WritableRowType({
  name: text('name'),
  homepageUrl: nullableText('homepage_url'),
  redirectUris: json<readonly string[]>('redirect_uris'),
  /** Every scope the application may ask for. The user may leave out those in `optionalScope`. */
  scope: number('scope'),
  optionalScope: number('optional_scope'),
});

const APPLICATION = new RowType({
  clientId: text('client_id'),
  ownerId: text('owner_id'),
  ...SETTINGS.fields,
  createdAt: number('created_at'),
  updatedAt: number('updated_at'),
  disabledAt: nullableNumber('disabled_at'),
  /** The owner cannot enable an application that the operator disabled. */
  disabledBy: nullableText<'owner' | 'operator'>('disabled_by'),
});

export type Application = ObjectOf<typeof APPLICATION> & { readonly secrets: readonly ApplicationSecret[] };

/** Settings as a form or the command line gives them. */
export type SettingsInput = InputOf<typeof SETTINGS>;

export type NewApplication = SettingsInput & {
  readonly clientId: string;
  readonly ownerId: string;
  readonly secret: string;
  readonly now: number;
};

export const SELECT_APPLICATIONS = `SELECT ${APPLICATION.columns} FROM applications`;

const applicationOf = (row: Row, secrets: readonly Row[]): Application => ({
  ...APPLICATION.read(row),
  secrets: secrets.map((secret) => SECRET.read(secret)),
});

export function applicationsOf(rows: readonly Row[], secrets: readonly Row[]): Application[] {
  const byClient = Map.groupBy(secrets, (row) => row.client_id);
  return rows.map((row) => applicationOf(row, byClient.get(row.client_id!) ?? []));
}

export function insertApplication(application: NewApplication): Statement {
  const { clientId, ownerId, now } = application;
  const values = [clientId, ownerId, ...SETTINGS.write(application), now, now];
  return {
    sql: `INSERT INTO applications (client_id, owner_id, ${SETTINGS.columns}, created_at, updated_at)
      VALUES (${placeholders(values.length)})`,
    values,
  };
}

const MAX_CACHED = 10_000;
/** Applications read by one statement. A fixed number, so that its text is always the same. */
const READ_AT_ONCE = 50;
const IS_ONE_OF = `client_id IN (${placeholders(READ_AT_ONCE)})`;

/** Names a change in the notification to other nodes. */
const SUBJECT = 'application ';

/**
 * Every token request needs its application and they rarely change, so each is cached until any process changes it.
 */
export class SqlApplications {
  readonly #driver: Driver;
  readonly secretLastUsed: SecretLastUsed;
  readonly #cache = new Map<string, Application>();
  /** Reads under way. One that a change overtook is no longer here, and its result is not cached. */
  readonly #reading = new Map<string, symbol>();

  constructor(driver: Driver) {
    this.#driver = driver;
    this.secretLastUsed = new SecretLastUsed(driver);
    driver.onExternalChange((subject) => {
      if (subject === undefined) this.#forgetAll();
      else if (subject.startsWith(SUBJECT)) this.#forget(subject.slice(SUBJECT.length));
    });
  }

  /** Cached; a change made by any process is seen within a second. */
  find(clientId: string): Promise<Application | undefined> | Application {
    return this.#cache.get(clientId) ?? this.#findUncached(clientId);
  }

  /** Only an application in memory: for decisions that must cost nothing. */
  findCached(clientId: string): Application | undefined {
    return this.#cache.get(clientId);
  }

  /** Those that exist, by client_id, in few statements. */
  async findAll(clientIds: Iterable<string>): Promise<Map<string, Application>> {
    const found = new Map<string, Application>();
    const uncached: string[] = [];
    for (const clientId of new Set(clientIds)) {
      const application = this.#cache.get(clientId);
      if (application) found.set(clientId, application);
      else if (couldBeClientId(clientId)) uncached.push(clientId);
    }
    for (let i = 0; i < uncached.length; i += READ_AT_ONCE) {
      const ids = uncached.slice(i, i + READ_AT_ONCE);
      for (const application of await this.#read(ids, IS_ONE_OF, padded(ids)))
        found.set(application.clientId, application);
    }
    return found;
  }

  async #findUncached(clientId: string): Promise<Application | undefined> {
    if (!couldBeClientId(clientId)) return undefined;
    return (await this.#read([clientId], 'client_id = $1', [clientId]))[0];
  }

  /** Reads these applications, which `condition` selects, and caches each unless it was changed meanwhile. */
  async #read(clientIds: readonly string[], condition: string, values: string[]): Promise<Application[]> {
    const read = Symbol();
    for (const clientId of clientIds) this.#reading.set(clientId, read);
    try {
      const [rows, secrets] = await Promise.all([
        this.#driver.read(`${SELECT_APPLICATIONS} WHERE ${condition}`, values),
        this.#driver.read(selectSecrets(condition), values),
      ]);
      const applications = applicationsOf(rows, secrets);
      for (const application of applications)
        if (this.#reading.get(application.clientId) === read) this.#remember(application);
      return applications;
    } finally {
      for (const clientId of clientIds)
        if (this.#reading.get(clientId) === read) this.#reading.delete(clientId);
    }
  }

  /** Called for every authenticated request, so it only records the time; a timer writes it. */
  recordSecretUse(clientId: string, secretId: string, now: number): void {
    this.secretLastUsed.record(clientId, secretId, now);
  }

  close(): Promise<void> {
    return this.secretLastUsed.close();
  }

  async list(): Promise<Application[]> {
    const [rows, secrets] = await Promise.all([
      this.#driver.read(`${SELECT_APPLICATIONS} ORDER BY created_at, client_id`),
      this.#driver.read(selectSecrets('true')),
    ]);
    return applicationsOf(rows, secrets);
  }

  async create(application: NewApplication): Promise<void> {
    const { clientId, secret, now } = application;
    await this.change(clientId, [insertApplication(application), insertFirstSecret(clientId, secret, now)]);
  }

  /** Gives an existing application these settings and this secret only. Whether it is disabled stays as it is. */
  async reset(application: NewApplication): Promise<void> {
    const { clientId, ownerId, secret, now } = application;
    const { sql, values } = SETTINGS.assign({ homepageUrl: null, ...application }, 4);
    await this.change(clientId, [
      {
        sql: `UPDATE applications SET ${['updated_at = $3', ...sql].join(', ')} WHERE client_id = $1 AND owner_id = $2`,
        values: [clientId, ownerId, now, ...values],
      },
      { sql: 'DELETE FROM application_secrets WHERE client_id = $1', values: [clientId] },
      insertSecret(clientId, secret, now),
    ]);
  }

  /** By the operator. */
  async setDisabled(clientId: string, disabled: boolean, now: number): Promise<boolean> {
    const sql = `UPDATE applications SET disabled_at = $2, disabled_by = $3, updated_at = $4
      WHERE client_id = $1 RETURNING client_id`;
    const values = disabled ? [clientId, now, 'operator', now] : [clientId, null, null, now];
    const [rows] = await this.change(clientId, [{ sql, values }]);
    return rows!.length > 0;
  }

  /** Adds a secret; the earlier ones expire at `othersExpireAt`. False when there is no such application. */
  async rotateSecret(
    clientId: string,
    secret: string,
    othersExpireAt: number,
    now: number,
  ): Promise<boolean> {
    // Two may be live: the newest existing one, until the overlap ends, and the new one.
    const [, , , added] = await this.change(clientId, [
      retireReplacedSecrets(clientId, now),
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
      trimRetiredSecrets(clientId),
    ]);
    return added!.length > 0;
  }

  async delete(clientId: string): Promise<boolean> {
    const [, rows] = await this.change(clientId, [
      { sql: 'DELETE FROM application_secrets WHERE client_id = $1', values: [clientId] },
      { sql: 'DELETE FROM applications WHERE client_id = $1 RETURNING client_id', values: [clientId] },
    ]);
    return rows!.length > 0;
  }

  /** Changes an application in one transaction, and has every process forget what it cached of it. */
  async change(clientId: string, statements: readonly Statement[]): Promise<Row[][]> {
    const notify = this.#driver.notifyStatements(SUBJECT + clientId);
    const rows = await this.#driver.transaction([...statements, ...notify]);
    this.#forget(clientId);
    return rows;
  }

  #remember(application: Application): void {
    const oldest = this.#cache.size >= MAX_CACHED ? this.#cache.keys().next().value : undefined;
    if (oldest !== undefined) this.#cache.delete(oldest);
    this.#cache.set(application.clientId, application);
  }

  #forget(clientId: string): void {
    this.#cache.delete(clientId);
    this.#reading.delete(clientId);
  }

  #forgetAll(): void {
    this.#cache.clear();
    this.#reading.clear();
  }
}

/** Fills up the parameters of a statement for `READ_AT_ONCE` ids. */
const padded = (ids: readonly string[]): string[] =>
  Array.from({ length: READ_AT_ONCE }, (_, index) => ids[index] ?? ids[0]!);
