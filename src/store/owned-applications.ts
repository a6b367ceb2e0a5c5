import { MAX_SECRETS } from '../protocol/application.ts';
import { hashClientSecret } from '../protocol/client-secret.ts';
import { insertFirstSecret, selectSecrets } from './application-secrets.ts';
import {
  type Application,
  applicationsOf,
  insertApplication,
  type NewApplication,
  SELECT_APPLICATIONS,
  SETTINGS,
  type SettingsInput,
  type SqlApplications,
} from './applications.ts';
import type { Driver, Row, Statement } from './drivers/driver.ts';
import { DuplicateKey } from './errors.ts';
import { retireExpiredSecrets, retireSecret, trimOwnRetiredSecrets } from './retired-secrets.ts';

type NewSecret = { readonly id: string; readonly secret: string; readonly now: number };

type CreationOutcome =
  | { readonly outcome: 'created' }
  /** The form was submitted before and created this application, which may have been deleted since. */
  | { readonly outcome: 'repeated'; readonly clientId: string };

/** `repeated`: a secret with this id exists already. */
type SecretAddition = 'added' | 'repeated' | 'too_many' | 'unknown';
/** `last`: the only secret that does not expire; it stays. */
type SecretRemoval = 'removed' | 'last' | 'unknown';

/** A form is useless once the session it was made for has ended, which is long before this. */
const FORMS_KEPT_MS = 30 * 24 * 3600 * 1000;

const OWNED = 'EXISTS (SELECT 1 FROM applications WHERE client_id = $1 AND owner_id = $2)';

/** Locks the application: of two concurrent changes to its secrets, the second sees the result of the first. */
const LOCK =
  'UPDATE applications SET updated_at = $3 WHERE client_id = $1 AND owner_id = $2 RETURNING client_id';

const REMOVE_EXPIRED_SECRETS = `
  DELETE FROM application_secrets WHERE client_id = $1 AND expires_at <= $3 AND ${OWNED}`;

const ADD_SECRET = `
  INSERT INTO application_secrets (client_id, id, hash, tail, created_at)
  SELECT client_id, CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS BIGINT)
  FROM applications WHERE client_id = $1 AND owner_id = $2
    AND (SELECT COUNT(*) FROM application_secrets WHERE client_id = $1) < ${MAX_SECRETS}
  ON CONFLICT DO NOTHING
  RETURNING id`;

/** One secret without expiry always stays: an application must not lose its last secret, now or later. */
const REMOVE_SECRET = `
  DELETE FROM application_secrets WHERE client_id = $1 AND id = $3 AND ${OWNED}
    AND EXISTS (SELECT 1 FROM application_secrets other
      WHERE other.client_id = $1 AND other.id <> $3 AND other.expires_at IS NULL)
  RETURNING id`;

/** The applications of one user. Every statement has the owner in its condition or its row (decision 024). */
export class SqlOwnedApplications {
  readonly #driver: Driver;
  readonly #applications: SqlApplications;
  readonly #ownerId: string;

  constructor(driver: Driver, applications: SqlApplications, ownerId: string) {
    this.#driver = driver;
    this.#applications = applications;
    this.#ownerId = ownerId;
  }

  async list(): Promise<Application[]> {
    const [rows, secrets] = await Promise.all([
      this.#driver.read(`${SELECT_APPLICATIONS} WHERE owner_id = $1 ORDER BY created_at DESC, client_id`, [
        this.#ownerId,
      ]),
      this.#driver.read(
        selectSecrets('client_id IN (SELECT client_id FROM applications WHERE owner_id = $1)'),
        [this.#ownerId],
      ),
    ]);
    return this.#read(rows, secrets);
  }

  async find(clientId: string): Promise<Application | undefined> {
    const values = [clientId, this.#ownerId];
    const [rows, secrets] = await Promise.all([
      this.#driver.read(`${SELECT_APPLICATIONS} WHERE client_id = $1 AND owner_id = $2`, values),
      this.#driver.read(selectSecrets(`client_id = $1 AND ${OWNED}`), values),
    ]);
    return this.#read(rows, secrets)[0];
  }

  async create(application: Omit<NewApplication, 'ownerId'>, formId: string): Promise<CreationOutcome> {
    const { clientId, secret, now } = application;
    try {
      await this.#applications.change(clientId, [
        {
          sql: 'DELETE FROM application_creations WHERE owner_id = $1 AND created_at < $2',
          values: [this.#ownerId, now - FORMS_KEPT_MS],
        },
        {
          sql: 'INSERT INTO application_creations (owner_id, form_id, client_id, created_at) VALUES ($1, $2, $3, $4)',
          values: [this.#ownerId, formId, clientId, now],
        },
        insertApplication({ ...application, ownerId: this.#ownerId }),
        insertFirstSecret(clientId, secret, now),
      ]);
      return { outcome: 'created' };
    } catch (error) {
      const earlier = error instanceof DuplicateKey ? await this.createdBy(formId) : undefined;
      if (earlier === undefined) throw error;
      return { outcome: 'repeated', clientId: earlier };
    }
  }

  /** The client_id of the application that this form created. */
  async createdBy(formId: string): Promise<string | undefined> {
    const sql = 'SELECT client_id FROM application_creations WHERE owner_id = $1 AND form_id = $2';
    const [row] = await this.#driver.read(sql, [this.#ownerId, formId]);
    return row?.client_id as string | undefined;
  }

  /** Changes the given settings and leaves the others as they are. */
  async edit(clientId: string, changes: Partial<SettingsInput>, now: number): Promise<boolean> {
    const { sql, values } = SETTINGS.assign(changes, 4);
    return this.#changed(
      clientId,
      `UPDATE applications SET ${['updated_at = $3', ...sql].join(', ')}
        WHERE client_id = $1 AND owner_id = $2 RETURNING client_id`,
      [clientId, this.#ownerId, now, ...values],
    );
  }

  async disable(clientId: string, now: number): Promise<boolean> {
    return this.#changed(
      clientId,
      `UPDATE applications SET disabled_at = $3, disabled_by = 'owner', updated_at = $3
        WHERE client_id = $1 AND owner_id = $2 AND disabled_at IS NULL RETURNING client_id`,
      [clientId, this.#ownerId, now],
    );
  }

  async enable(clientId: string, now: number): Promise<boolean> {
    return this.#changed(
      clientId,
      `UPDATE applications SET disabled_at = NULL, disabled_by = NULL, updated_at = $3
        WHERE client_id = $1 AND owner_id = $2 AND disabled_by = 'owner' RETURNING client_id`,
      [clientId, this.#ownerId, now],
    );
  }

  /** Only while the application has the name that was confirmed. */
  async delete(clientId: string, name: string): Promise<boolean> {
    const values = [clientId, this.#ownerId, name];
    const condition = 'client_id = $1 AND owner_id = $2 AND name = $3';
    const [, , deleted] = await this.#applications.change(clientId, [
      // Locks the application, so that no secret is added between the two that follow.
      { sql: `UPDATE applications SET updated_at = updated_at WHERE ${condition}`, values },
      {
        sql: `DELETE FROM application_secrets WHERE client_id = $1
          AND EXISTS (SELECT 1 FROM applications WHERE ${condition})`,
        values,
      },
      { sql: `DELETE FROM applications WHERE ${condition} RETURNING client_id`, values },
    ]);
    return deleted!.length > 0;
  }

  async addSecret(clientId: string, newSecret: NewSecret): Promise<SecretAddition> {
    const { id, now } = newSecret;
    const [owned, , , added] = await this.#applications.change(clientId, [
      { sql: LOCK, values: [clientId, this.#ownerId, now] },
      retireExpiredSecrets(clientId, this.#ownerId, now),
      { sql: REMOVE_EXPIRED_SECRETS, values: [clientId, this.#ownerId, now] },
      this.#addSecret(clientId, newSecret),
      trimOwnRetiredSecrets(clientId, this.#ownerId),
    ]);
    if (added!.length > 0) return 'added';
    if (owned!.length === 0) return 'unknown';
    const application = await this.find(clientId);
    return application?.secrets.some((secret) => secret.id === id) ? 'repeated' : 'too_many';
  }

  async removeSecret(clientId: string, secretId: string, now: number): Promise<SecretRemoval> {
    const [, , removed] = await this.#applications.change(clientId, [
      { sql: LOCK, values: [clientId, this.#ownerId, now] },
      retireSecret(clientId, this.#ownerId, secretId, now),
      { sql: REMOVE_SECRET, values: [clientId, this.#ownerId, secretId] },
      trimOwnRetiredSecrets(clientId, this.#ownerId),
    ]);
    if (removed!.length > 0) return 'removed';
    const application = await this.find(clientId);
    return application?.secrets.some(({ id }) => id === secretId) ? 'last' : 'unknown';
  }

  #addSecret(clientId: string, { id, secret, now }: NewSecret): Statement {
    const values = [clientId, this.#ownerId, id, hashClientSecret(secret), secret.slice(-4), now];
    return { sql: ADD_SECRET, values };
  }

  async #changed(clientId: string, sql: string, values: Statement['values']): Promise<boolean> {
    const [rows] = await this.#applications.change(clientId, [{ sql, values }]);
    return rows!.length > 0;
  }

  /** Takes the last use of a secret from memory where it is not written yet. */
  #read(rows: readonly Row[], secrets: readonly Row[]): Application[] {
    const { secretLastUsed } = this.#applications;
    return applicationsOf(rows, secrets).map((application) => ({
      ...application,
      secrets: application.secrets.map((secret) => ({
        ...secret,
        lastUsedAt: secretLastUsed.unwritten(secret.id) ?? secret.lastUsedAt,
      })),
    }));
  }
}
