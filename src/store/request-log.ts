import type { ErrorCode } from '../protocol/errors.ts';
import type { Failure, NoDetails, SuccessReason } from '../protocol/failure-reason.ts';
import type { Driver, Row } from './drivers/driver.ts';
import {
  boolean,
  json,
  nullableNumber,
  nullableText,
  number,
  type ObjectOf,
  placeholders,
  text,
  WritableRowType,
} from './row-type.ts';

export type LoggedEndpoint = 'authorize' | 'token' | 'revoke';

/** The result of a request: the error code sent to the client with the exact reason, or what a success did. */
export type LogOutcome =
  | { readonly error: ''; readonly reason: SuccessReason; readonly details: NoDetails }
  | ({ readonly error: ErrorCode } & Failure);

const ENTRY = new WritableRowType({
  clientId: text('client_id'),
  /** The request id. Ids sort by time. */
  id: text('id'),
  at: number('at'),
  endpoint: text<LoggedEndpoint>('endpoint'),
  /** Whether the client authenticated. Anybody can send the other requests in its name. */
  authenticated: boolean('authenticated'),
  /** The error code sent to the client; empty for a success. */
  error: text<LogOutcome['error']>('error'),
  reason: text<LogOutcome['reason']>('reason'),
  /** The end of the grant id, and the generation that was presented. */
  grantTail: nullableText('grant_tail'),
  generation: nullableNumber('generation'),
  details: json<LogOutcome['details']>('details'),
  address: text('address'),
  userAgent: text('user_agent'),
  latencyUs: number('latency_us'),
});

export type LogEntry = Omit<ObjectOf<typeof ENTRY>, keyof LogOutcome> & LogOutcome;

/** Only whole outcomes are written, so error, reason and details fit together. */
const entryOf = (row: Row): LogEntry => ENTRY.read(row) as LogEntry;

export type LogFilter = {
  readonly outcome?: 'success' | 'failure' | undefined;
  readonly endpoint?: LoggedEndpoint | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** For the next page: only entries older than the one with this id. */
  readonly before?: string | undefined;
};

/** Few enough that no request waits long for the write. */
const MAX_ROWS_PER_STATEMENT = 50;
const MAX_ENTRIES_PER_GRANT = 100;

const TRIM = `
  DELETE FROM request_log WHERE client_id = $1 AND authenticated = $2 AND id < (
    SELECT MIN(id) FROM (
      SELECT id FROM request_log WHERE client_id = $1 AND authenticated = $2 ORDER BY id DESC LIMIT $3) AS newest)`;

const LIST = `
  SELECT ${ENTRY.columns} FROM request_log
  WHERE client_id = $1 AND id < $2 AND at >= $3 AND at < $4
    AND ($5 = '' OR endpoint = $5)
    AND ($6 = '' OR ($6 = 'success' AND error = '') OR ($6 = 'failure' AND error <> ''))
  ORDER BY id DESC LIMIT $7`;

const FIND_CLIENT_ID = `
  SELECT client_id FROM request_log
  WHERE id = $2 AND client_id IN (SELECT client_id FROM applications WHERE owner_id = $1)`;

/** Sorts after every id. */
const AFTER_ALL_IDS = '~';

export class SqlRequestLog {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async write(entries: readonly LogEntry[]): Promise<void> {
    for (let i = 0; i < entries.length; i += MAX_ROWS_PER_STATEMENT) {
      const rows = entries.slice(i, i + MAX_ROWS_PER_STATEMENT);
      await this.#driver.write(
        insert(rows.length),
        rows.flatMap((entry) => ENTRY.write(entry)),
      );
    }
  }

  /** Keeps the newest `keep` of an application's entries. */
  async trim(clientId: string, authenticated: boolean, keep: number): Promise<void> {
    await this.#driver.write(TRIM, [clientId, Number(authenticated), keep]);
  }

  /** Newest first. */
  async list(clientId: string, filter: LogFilter, limit: number): Promise<LogEntry[]> {
    const {
      before = AFTER_ALL_IDS,
      since = 0,
      until = Number.MAX_SAFE_INTEGER,
      endpoint = '',
      outcome = '',
    } = filter;
    const values = [clientId, before, since, until, endpoint, outcome, limit];
    return (await this.#driver.read(LIST, values)).map(entryOf);
  }

  async find(clientId: string, id: string): Promise<LogEntry | undefined> {
    const sql = `SELECT ${ENTRY.columns} FROM request_log WHERE client_id = $1 AND id = $2`;
    const [row] = await this.#driver.read(sql, [clientId, id]);
    return row && entryOf(row);
  }

  /** Every entry of one grant that is still there, oldest first. */
  async listByGrant(clientId: string, grantTail: string): Promise<LogEntry[]> {
    const sql = `SELECT ${ENTRY.columns} FROM request_log WHERE client_id = $1 AND grant_tail = $2 ORDER BY id DESC LIMIT $3`;
    const rows = await this.#driver.read(sql, [clientId, grantTail, MAX_ENTRIES_PER_GRANT]);
    return rows.reverse().map(entryOf);
  }

  /** The client_id of the owner's application that an entry belongs to. */
  async findClientId(ownerId: string, id: string): Promise<string | undefined> {
    return (await this.#driver.read(FIND_CLIENT_ID, [ownerId, id]))[0]?.client_id as string | undefined;
  }

  async sweep(limit: number, before: number): Promise<void> {
    const sql = `DELETE FROM request_log WHERE (client_id, id) IN (
        SELECT client_id, id FROM request_log WHERE at <= $1 LIMIT $2)`;
    await this.#driver.write(sql, [before, limit]);
  }
}

const insertsByRows = new Map<number, string>();

function insert(rows: number): string {
  let sql = insertsByRows.get(rows);
  if (!sql) {
    const width = Object.keys(ENTRY.fields).length;
    const values = Array.from({ length: rows }, (_, row) => `(${placeholders(width, row * width + 1)})`);
    sql = `INSERT INTO request_log (${ENTRY.columns}) VALUES ${values.join(', ')} ON CONFLICT DO NOTHING`;
    insertsByRows.set(rows, sql);
  }
  return sql;
}
