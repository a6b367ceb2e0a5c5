import type { Driver } from './drivers/driver.ts';
import type { LogEntry } from './request-log.ts';
import { json, number, type ObjectOf, placeholders, text, WritableRowType } from './row-type.ts';

/** One use of a credential of the grant. */
export type Presentation = Pick<
  LogEntry,
  'id' | 'at' | 'endpoint' | 'error' | 'generation' | 'address' | 'userAgent'
> & {
  /** Nothing but the fact is disclosed of a use by another application. */
  readonly reason: LogEntry['reason'] | 'by_another_application';
};

const INCIDENT = new WritableRowType({
  clientId: text('client_id'),
  /** The id of the request at which the grant was revoked. */
  id: text('id'),
  at: number('at'),
  kind: text<'refresh_token_reuse' | 'code_replay'>('kind'),
  grantTail: text('grant_tail'),
  /** The generation that was presented twice. */
  generation: number('generation'),
  presentations: json<readonly Presentation[]>('presentations'),
});

/** A grant revoked because a credential of it was presented twice. */
export type Incident = ObjectOf<typeof INCIDENT>;

/** Kept per application: an owner can cause as many as the rate limit allows. */
const MAX_INCIDENTS = 200;
const MAX_PRESENTATIONS = 50;

const TRIM = `
  DELETE FROM incidents WHERE client_id = $1 AND id < (
    SELECT MIN(id) FROM (
      SELECT id FROM incidents WHERE client_id = $1 ORDER BY id DESC LIMIT $2) AS newest)`;

export class SqlIncidents {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** Recording one twice records it once. Of an application's incidents the newest are kept. */
  async record(incident: Incident): Promise<void> {
    const { clientId, presentations } = incident;
    const values = INCIDENT.write({ ...incident, presentations: presentations.slice(-MAX_PRESENTATIONS) });
    const sql = `INSERT INTO incidents (${INCIDENT.columns}) VALUES (${placeholders(values.length)})
      ON CONFLICT DO NOTHING`;
    await this.#driver.write(sql, values);
    await this.#driver.write(TRIM, [clientId, MAX_INCIDENTS]);
  }

  /** Newest first. */
  async list(clientId: string, limit: number): Promise<Incident[]> {
    const sql = `SELECT ${INCIDENT.columns} FROM incidents WHERE client_id = $1 ORDER BY id DESC LIMIT $2`;
    return (await this.#driver.read(sql, [clientId, limit])).map((row) => INCIDENT.read(row));
  }

  async find(clientId: string, id: string): Promise<Incident | undefined> {
    const sql = `SELECT ${INCIDENT.columns} FROM incidents WHERE client_id = $1 AND id = $2`;
    const [row] = await this.#driver.read(sql, [clientId, id]);
    return row && INCIDENT.read(row);
  }

  async sweep(limit: number, before: number): Promise<void> {
    const sql = `DELETE FROM incidents WHERE (client_id, id) IN (
        SELECT client_id, id FROM incidents WHERE at <= $1 LIMIT $2)`;
    await this.#driver.write(sql, [before, limit]);
  }
}
