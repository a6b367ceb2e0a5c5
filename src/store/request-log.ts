import type { Driver, Row, Value } from './driver.ts';
import type {
  EndedSecret,
  Facts,
  Incident,
  LogEntry,
  LogFilter,
  LoggedEndpoint,
  Presentation,
  RequestLogStore,
} from './request-records.ts';

const COLUMNS = `client_id, id, at, endpoint, proven, error, reason, session, generation, facts, address, user_agent,
  latency_us`;
const WIDTH = 13;
/** Rows a statement. Few enough that writing them holds nobody up. */
const ROWS_AT_ONCE = 50;
const LONGEST_SESSION = 100;

const TRIM = `
  DELETE FROM request_log WHERE client_id = $1 AND proven = $2 AND id < (
    SELECT MIN(id) FROM (
      SELECT id FROM request_log WHERE client_id = $1 AND proven = $2 ORDER BY id DESC LIMIT $3) AS newest)`;

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
  INSERT INTO incidents (client_id, id, at, kind, session, generation, presentations)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT DO NOTHING`;

/** Sorts after every id. */
const LAST = '~';

export class RequestLogInSql implements RequestLogStore {
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

  async trim(clientId: string, proven: boolean, keep: number): Promise<void> {
    await this.#driver.write(TRIM, [clientId, Number(proven), keep]);
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

  async session(clientId: string, session: string): Promise<LogEntry[]> {
    const sql = `SELECT ${COLUMNS} FROM request_log WHERE client_id = $1 AND session = $2 ORDER BY id DESC LIMIT $3`;
    const rows = await this.#driver.read(sql, [clientId, session, LONGEST_SESSION]);
    return rows.reverse().map(entryOf);
  }

  async applicationOf(ownerId: string, id: string): Promise<string | undefined> {
    return (await this.#driver.read(APPLICATION_OF, [ownerId, id]))[0]?.client_id as string | undefined;
  }

  async endedSecret(clientId: string, hash: string): Promise<EndedSecret | undefined> {
    const sql = 'SELECT ended_at, ended_by FROM ended_secrets WHERE client_id = $1 AND hash = $2';
    const [row] = await this.#driver.read(sql, [clientId, hash]);
    return row && { endedAt: Number(row.ended_at), endedBy: row.ended_by as EndedSecret['endedBy'] };
  }

  async recordIncident(incident: Incident): Promise<void> {
    const { clientId, id, at, kind, session, generation, presentations } = incident;
    const values = [clientId, id, at, kind, session, generation, JSON.stringify(presentations)];
    await this.#driver.write(RECORD_INCIDENT, values);
  }

  async incidents(clientId: string, limit: number): Promise<Incident[]> {
    const sql = 'SELECT * FROM incidents WHERE client_id = $1 ORDER BY id DESC LIMIT $2';
    return (await this.#driver.read(sql, [clientId, limit])).map(incidentOf);
  }

  async incident(clientId: string, id: string): Promise<Incident | undefined> {
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
    await remove('ended_secrets', 'hash', 'ended_at');
  }
}

const inserts = new Map<number, string>();

/** The statement for so many rows. */
function insert(rows: number): string {
  let sql = inserts.get(rows);
  if (!sql) {
    const row = (place: number) =>
      `(${Array.from({ length: WIDTH }, (_, column) => `$${place * WIDTH + column + 1}`).join(', ')})`;
    const all = Array.from({ length: rows }, (_, place) => row(place)).join(', ');
    sql = `INSERT INTO request_log (${COLUMNS}) VALUES ${all} ON CONFLICT DO NOTHING`;
    inserts.set(rows, sql);
  }
  return sql;
}

function valuesOf(entry: LogEntry): Value[] {
  const { clientId, id, at, endpoint, proven, error, reason, session, generation } = entry;
  const { facts, address, userAgent, latencyUs } = entry;
  return [
    clientId,
    id,
    at,
    endpoint,
    Number(proven),
    error,
    reason,
    session,
    generation,
    JSON.stringify(facts),
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
    proven: Number(row.proven) === 1,
    error: row.error as string,
    reason: row.reason as string,
    session: row.session as string | null,
    generation: row.generation === null ? null : Number(row.generation),
    facts: JSON.parse(row.facts as string) as Facts,
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
    session: row.session as string,
    generation: Number(row.generation),
    presentations: JSON.parse(row.presentations as string) as Presentation[],
  };
}
