import { APPLICATION_COLUMNS, applicationOf, insertApplication, insertSecret } from './application-rows.ts';
import type { Driver, Row, Statement } from './drivers/driver.ts';
import { SqlOwnedApplications } from './owned-applications.ts';
import { rememberReplacedSecrets } from './retired-secrets.ts';
import { SecretLastUsed } from './secret-last-used.ts';
import type { Application, ApplicationStore, NewApplication, OwnedApplications } from './store.ts';

const MAX_CACHED = 10_000;
/** Every client_id that was ever given out looks like this; anything else is not worth a question to the database. */
const CLIENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Every token request needs its application, and applications hardly ever change, so
 * they are kept in memory until this process or another changes one.
 */
export class SqlApplications implements ApplicationStore {
  readonly #driver: Driver;
  readonly #uses: SecretLastUsed;
  #cache = new Map<string, Application>();

  constructor(driver: Driver) {
    this.#driver = driver;
    this.#uses = new SecretLastUsed(driver);
    driver.onExternalChange(() => this.#forgetAll());
  }

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

  ownedBy(ownerId: string): OwnedApplications {
    return new SqlOwnedApplications(this.#driver, this.#uses, ownerId, (statements) =>
      this.#change(statements),
    );
  }

  recordSecretUse(clientId: string, secretId: string, now: number): void {
    this.#uses.record(clientId, secretId, now);
  }

  close(): Promise<void> {
    return this.#uses.close();
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
    await this.#change([insertApplication(application), insertSecret(clientId, secret, now)]);
  }

  async setDisabled(clientId: string, disabled: boolean, now: number): Promise<boolean> {
    const sql = `UPDATE applications SET disabled_at = $2, disabled_by = $3, updated_at = $4
      WHERE client_id = $1 RETURNING client_id`;
    const values = disabled ? [clientId, now, 'operator', now] : [clientId, null, null, now];
    const [rows] = await this.#change([{ sql, values }]);
    return rows!.length > 0;
  }

  async rotateSecret(
    clientId: string,
    secret: string,
    othersExpireAt: number,
    now: number,
  ): Promise<boolean> {
    // Two may be live: the newest of those there, until the overlap ends, and the one that is added.
    const [, , , added] = await this.#change([
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
    const [, rows] = await this.#change([
      { sql: 'DELETE FROM application_secrets WHERE client_id = $1', values: [clientId] },
      { sql: 'DELETE FROM applications WHERE client_id = $1 RETURNING client_id', values: [clientId] },
    ]);
    return rows!.length > 0;
  }

  async #change(statements: readonly Statement[]): Promise<Row[][]> {
    const rows = await this.#driver.transaction([...statements, ...this.#driver.notifyStatements]);
    this.#forgetAll();
    return rows;
  }

  #forgetAll(): void {
    this.#cache = new Map();
  }
}
