import type { Driver, Row, Value } from './drivers/driver.ts';

export const LOGGED_ENDPOINTS = ['authorize', 'token', 'revoke'] as const;
export type LoggedEndpoint = (typeof LOGGED_ENDPOINTS)[number];

/** What makes a reason exact. Never a credential: of one at most its last four characters. */
export type LogDetails = Readonly<Record<string, string | number | undefined>>;

export type LogEntry = {
  readonly clientId: string;
  /** The request's id; ids sort by time. */
  readonly id: string;
  readonly at: number;
  readonly endpoint: LoggedEndpoint;
  /** The application had authenticated who it is. What has not is anybody's. */
  readonly authenticated: boolean;
  /** The error the client was told; empty for a success. */
  readonly error: string;
  readonly reason: string;
  /** The end of the grant's id, and which link of it was presented. */
  readonly grantTail: string | null;
  readonly generation: number | null;
  readonly details: LogDetails;
  readonly address: string;
  readonly userAgent: string;
  readonly latencyUs: number;
};

export type LogFilter = {
  readonly outcome?: 'success' | 'failure' | undefined;
  readonly endpoint?: LoggedEndpoint | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only what is older than the entry with this id: the next page. */
  readonly before?: string | undefined;
};

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

/** Sorts after every id. */
const LAST = '~';

export class SqlRequestLog {
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

  /** Keeps the newest `keep` of an application's entries. */
  async trim(clientId: string, authenticated: boolean, keep: number): Promise<void> {
    await this.#driver.write(TRIM, [clientId, Number(authenticated), keep]);
  }

  /** Newest first. */
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

  /** Every entry of one grant that is still there, oldest first. */
  async listByGrant(clientId: string, grantTail: string): Promise<LogEntry[]> {
    const sql = `SELECT ${COLUMNS} FROM request_log WHERE client_id = $1 AND grant_tail = $2 ORDER BY id DESC LIMIT $3`;
    const rows = await this.#driver.read(sql, [clientId, grantTail, MAX_ENTRIES_PER_GRANT]);
    return rows.reverse().map(entryOf);
  }

  /** The client_id of the owner's application that an entry belongs to. */
  async findClientId(ownerId: string, id: string): Promise<string | undefined> {
    return (await this.#driver.read(APPLICATION_OF, [ownerId, id]))[0]?.client_id as string | undefined;
  }

  async sweep(limit: number, before: number): Promise<void> {
    const sql = `DELETE FROM request_log WHERE (client_id, id) IN (
        SELECT client_id, id FROM request_log WHERE at <= $1 LIMIT $2)`;
    await this.#driver.write(sql, [before, limit]);
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
