import type { Driver, Row } from './drivers/driver.ts';
import type { LogEntry } from './request-log.ts';

/** One time that a credential of a grant was shown. */
export type Presentation = Pick<
  LogEntry,
  'id' | 'at' | 'endpoint' | 'error' | 'reason' | 'generation' | 'address' | 'userAgent'
>;

export type Incident = {
  readonly clientId: string;
  /** The id of the request that cut the grant. */
  readonly id: string;
  readonly at: number;
  readonly kind: 'refresh_token_reuse' | 'code_replay';
  readonly grantTail: string;
  /** The link that came twice. */
  readonly generation: number;
  readonly presentations: readonly Presentation[];
};

const RECORD = `
  INSERT INTO incidents (client_id, id, at, kind, grant_tail, generation, presentations)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT DO NOTHING`;

export class SqlIncidents {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async record(incident: Incident): Promise<void> {
    const { clientId, id, at, kind, grantTail, generation, presentations } = incident;
    const values = [clientId, id, at, kind, grantTail, generation, JSON.stringify(presentations)];
    await this.#driver.write(RECORD, values);
  }

  /** Newest first. */
  async list(clientId: string, limit: number): Promise<Incident[]> {
    const sql = 'SELECT * FROM incidents WHERE client_id = $1 ORDER BY id DESC LIMIT $2';
    return (await this.#driver.read(sql, [clientId, limit])).map(incidentOf);
  }

  async find(clientId: string, id: string): Promise<Incident | undefined> {
    const sql = 'SELECT * FROM incidents WHERE client_id = $1 AND id = $2';
    const [row] = await this.#driver.read(sql, [clientId, id]);
    return row && incidentOf(row);
  }

  async sweep(limit: number, before: number): Promise<void> {
    const sql = `DELETE FROM incidents WHERE (client_id, id) IN (
        SELECT client_id, id FROM incidents WHERE at <= $1 LIMIT $2)`;
    await this.#driver.write(sql, [before, limit]);
  }
}

function incidentOf(row: Row): Incident {
  return {
    clientId: row.client_id as string,
    id: row.id as string,
    at: Number(row.at),
    kind: row.kind as Incident['kind'],
    grantTail: row.grant_tail as string,
    generation: Number(row.generation),
    presentations: JSON.parse(row.presentations as string) as Presentation[],
  };
}
