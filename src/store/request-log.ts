import type { Driver, Row, Value } from './drivers/driver.ts';
import type {
  Incident,
  LogDetails,
  LogEntry,
  LogFilter,
  LoggedEndpoint,
  Presentation,
  RequestLogStore,
  RetiredSecret,
} from './request-records.ts';

const COLUMNS = `client_id, id, at, endpoint, authenticated, error, reason, grant_tail, generation, details, address, user_agent,
  latency_us`;
const WIDTH = 13;
/** Rows a statement. Few enough that writing them holds nobody up. */
const ROWS_AT_ONCE = 50;
const MAX_ENTRIES_PER_GRANT = 100;

const TRIM = `
  DELETE FROM request_log WHERE client_id = $1 AND authenticated = $2 AND id < (
    SELECT MIN(id) FROM (
      SELECT id FROM request_log WHERE client_id = $1 AND authenticated = $2 ORDER BY id DESC LIMIT $3) AS newest)`;

const LIST = `
  SELECT ${COLUMNS} FROM request_log
  WHERE client_id = $1 AND id < $2 AND at >= $3 AND at < $4
    AND ($5 = '' OR endpoint = $5)
    AND ($6 = '' OR ($6 = 'success' AND error = '') OR ($6 = 'failure' AND error <> ''))
  ORDER BY id DESC LIMIT $7`;

const APPLICATION_OF = `
  SELECT client_id FROM request_log
  WHERE id = $2 AND client_id IN (SELECT client_id FROM applications WHERE owner_id = $1)`;

const RECORD_INCIDENT = `
  INSERT INTO incidents (client_id, id, at, kind, grant_tail, generation, presentations)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT DO NOTHING`;

/** Sorts after every id. */
const LAST = '~';

export class SqlRequestLog implements RequestLogStore {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async write(entries: readonly LogEntry[]): Promise<void> {
    for (let i = 0; i < entries.length; i += ROWS_AT_ONCE) {
      const rows = entries.slice(i, i + ROWS_AT_ONCE);
      await this.#driver.write(insert(rows.length), rows.flatMap(valuesOf));
    }
  }

  async trim(clientId: string, authenticated: boolean, keep: number): Promise<void> {
    await this.#driver.write(TRIM, [clientId, Number(authenticated), keep]);
  }

  async list(clientId: string, filter: LogFilter, limit: number): Promise<LogEntry[]> {
    const { before = LAST, since = 0, until = Number.MAX_SAFE_INTEGER, endpoint = '', outcome = '' } = filter;
    const values = [clientId, before, since, until, endpoint, outcome, limit];
    return (await this.#driver.read(LIST, values)).map(entryOf);
  }

  async find(clientId: string, id: string): Promise<LogEntry | undefined> {
    const sql = `SELECT ${COLUMNS} FROM request_log WHERE client_id = $1 AND id = $2`;
    const [row] = await this.#driver.read(sql, [clientId, id]);
    return row && entryOf(row);
  }

  async listByGrant(clientId: string, grantTail: string): Promise<LogEntry[]> {
    const sql = `SELECT ${COLUMNS} FROM request_log WHERE client_id = $1 AND grant_tail = $2 ORDER BY id DESC LIMIT $3`;
    const rows = await this.#driver.read(sql, [clientId, grantTail, MAX_ENTRIES_PER_GRANT]);
    return rows.reverse().map(entryOf);
  }

  async findClientId(ownerId: string, id: string): Promise<string | undefined> {
    return (await this.#driver.read(APPLICATION_OF, [ownerId, id]))[0]?.client_id as string | undefined;
  }

  async findRetiredSecret(clientId: string, hash: string): Promise<RetiredSecret | undefined> {
    const sql = 'SELECT retired_at, retired_reason FROM retired_secrets WHERE client_id = $1 AND hash = $2';
    const [row] = await this.#driver.read(sql, [clientId, hash]);
    return (
      row && {
        retiredAt: Number(row.retired_at),
        retiredReason: row.retired_reason as RetiredSecret['retiredReason'],
      }
    );
  }

  async recordIncident(incident: Incident): Promise<void> {
    const { clientId, id, at, kind, grantTail, generation, presentations } = incident;
    const values = [clientId, id, at, kind, grantTail, generation, JSON.stringify(presentations)];
    await this.#driver.write(RECORD_INCIDENT, values);
  }

  async listIncidents(clientId: string, limit: number): Promise<Incident[]> {
    const sql = 'SELECT * FROM incidents WHERE client_id = $1 ORDER BY id DESC LIMIT $2';
    return (await this.#driver.read(sql, [clientId, limit])).map(incidentOf);
  }

  async findIncident(clientId: string, id: string): Promise<Incident | undefined> {
    const sql = 'SELECT * FROM incidents WHERE client_id = $1 AND id = $2';
    const [row] = await this.#driver.read(sql, [clientId, id]);
    return row && incidentOf(row);
  }

  async sweep(limit: number, before: number): Promise<void> {
    const remove = (table: string, key: string, time: string) =>
      this.#driver.write(
        `DELETE FROM ${table} WHERE (client_id, ${key}) IN (
          SELECT client_id, ${key} FROM ${table} WHERE ${time} <= $1 LIMIT $2)`,
        [before, limit],
      );
    await remove('request_log', 'id', 'at');
    await remove('incidents', 'id', 'at');
    await remove('retired_secrets', 'hash', 'retired_at');
  }
}

const inserts = new Map<number, string>();

/** The statement for so many rows. */
function insert(rows: number): string {
  let sql = inserts.get(rows);
  if (!sql) {
    const row = (index: number) =>
      `(${Array.from({ length: WIDTH }, (_, column) => `$${index * WIDTH + column + 1}`).join(', ')})`;
    const all = Array.from({ length: rows }, (_, index) => row(index)).join(', ');
    sql = `INSERT INTO request_log (${COLUMNS}) VALUES ${all} ON CONFLICT DO NOTHING`;
    inserts.set(rows, sql);
  }
  return sql;
}

function valuesOf(entry: LogEntry): Value[] {
  const { clientId, id, at, endpoint, authenticated, error, reason, grantTail, generation } = entry;
  const { details, address, userAgent, latencyUs } = entry;
  return [
    clientId,
    id,
    at,
    endpoint,
    Number(authenticated),
    error,
    reason,
    grantTail,
    generation,
    JSON.stringify(details),
    address,
    userAgent,
    latencyUs,
  ];
}

function entryOf(row: Row): LogEntry {
  return {
    clientId: row.client_id as string,
    id: row.id as string,
    at: Number(row.at),
    endpoint: row.endpoint as LoggedEndpoint,
    authenticated: Number(row.authenticated) === 1,
    error: row.error as string,
    reason: row.reason as string,
    grantTail: row.grant_tail as string | null,
    generation: row.generation === null ? null : Number(row.generation),
    details: JSON.parse(row.details as string) as LogDetails,
    address: row.address as string,
    userAgent: row.user_agent as string,
    latencyUs: Number(row.latency_us),
  };
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
