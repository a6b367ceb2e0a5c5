import pg from 'pg';
import {
  DatabaseUnavailable,
  OutcomeUnknown,
  type Row,
  type RowArray,
  type Statement,
  type Value,
} from './driver.ts';

export type PoolOptions = {
  readonly url: string;
  readonly connections: number;
  /** How long a job may take from the moment it is handed in, waiting included. */
  readonly timeoutMs: number;
};

export type Job = {
  readonly statements: readonly Statement[];
  /** Rows come as arrays of their columns instead of objects. */
  readonly columns: boolean;
  /** Changes nothing, so that it may be sent again when its connection was lost. */
  readonly repeatable: boolean;
  readonly deadline: number;
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: unknown) => void;
  attempts: number;
};

/**
 * Statements a connection is sent before its earlier answers are back. Enough to hide the way
 * there and back; few enough that one slow statement holds up few others.
 */
const PIPELINE = 4;
const MAX_WAITING = 10_000;
const WATCH_MS = 100;
const MIN_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 1_000;

/** Times come as int8, and fit a number until the year 287396; truth is 1 or 0, as SQLite has it. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => (text === 't' ? 1 : 0),
  20: Number,
};
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

const BEGIN = { text: 'BEGIN' };
const COMMIT = { text: 'COMMIT' };

/** A client with Postern's settings: nothing it does may last longer than `timeoutMs`, on either side. */
export function newClient(url: string, timeoutMs: number, pipeline = false): pg.Client {
  return new pg.Client({
    connectionString: url,
    application_name: 'postern',
    connectionTimeoutMillis: timeoutMs || 10_000,
    // The server gives up first: then it is known that nothing was changed.
    statement_timeout: Math.floor(timeoutMs * 0.8),
    idle_in_transaction_session_timeout: timeoutMs,
    // A pipelined client has deadlines of its own, see Connections.
    ...(!pipeline && timeoutMs > 0 && { query_timeout: timeoutMs }),
    keepAlive: true,
    types,
    pipeline,
  });
}

/**
 * Every statement that a request waits for finds its rows by their keys. A plan that was made while the tables were
 * small must not read them whole when they are not, nor lock rows in another order than it was given.
 */
const BY_KEY = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_bitmapscan', 'jit']
  .map((name) => `SET ${name} = off;`)
  .concat('SET random_page_cost = 0;')
  .join(' ');

/** A connection for what requests wait for. */
export async function connectForRequests(url: string, timeoutMs: number): Promise<pg.Client> {
  const client = newClient(url, timeoutMs, true);
  client.on('error', () => {});
  // A server may fall silent after it was reached: this attempt ends too, and makes room for the next.
  const overdue = setTimeout(() => cut(client), timeoutMs);
  try {
    await client.connect();
    // Who waits for a row that somebody else holds makes all wait who came with it. A deadlock is found sooner.
    await client.query(`${BY_KEY} SET lock_timeout = ${Math.floor(timeoutMs * 0.4)}`);
    return client;
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  } finally {
    clearTimeout(overdue);
  }
}

/** The stream is the one thing that ends a connection whose other side is silent. */
function cut(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/**
 * A fixed number of connections, opened as they are needed and replaced when they die. Every job
 * ends within its deadline, whatever the server does: a connection whose answer is overdue is
 * destroyed, and what waits too long is refused.
 */
export class PipelinedPool {
  readonly #options: PoolOptions;
  readonly #open = new Set<Connection>();
  #opening = 0;
  #waiting: Job[] = [];
  #pauseMs = 0;
  #closed = false;
  #lastError: unknown;
  #lookedAt = performance.now();
  readonly #watch: NodeJS.Timeout;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#watch = setInterval(() => this.#endOverdue(), WATCH_MS).unref();
  }

  run(statements: readonly Statement[], repeatable: boolean): Promise<Row[][]> {
    return this.#do(statements, repeatable, false) as Promise<Row[][]>;
  }

  async columns(statement: Statement, repeatable: boolean): Promise<RowArray[]> {
    return (await this.#do([statement], repeatable, true))[0] as RowArray[];
  }

  /** Waits for what is under way, then closes. */
  async close(): Promise<void> {
    this.#closed = true;
    const unfinished = () =>
      this.#opening > 0 || this.#waiting.length > 0 || [...this.#open].some(({ busy }) => busy > 0);
    while (unfinished()) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clearInterval(this.#watch);
    await Promise.all([...this.#open].map((connection) => connection.end()));
  }

  #do(statements: readonly Statement[], repeatable: boolean, columns: boolean): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.#options.timeoutMs;
      this.#submit({ statements, columns, repeatable, deadline, resolve, reject, attempts: 0 });
    });
  }

  #submit(job: Job): void {
    if (this.#closed) {
      job.reject(new DatabaseUnavailable('the database was closed'));
      return;
    }
    const connection = this.#leastBusy();
    if ((!connection || connection.busy > 0) && this.#open.size + this.#opening < this.#options.connections)
      this.#openAnother();
    if (connection) connection.send(job);
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(job);
    else job.reject(new DatabaseUnavailable('too many statements wait for a connection'));
  }

  #leastBusy(): Connection | undefined {
    let best: Connection | undefined;
    for (const connection of this.#open) {
      if (connection.room > (best?.room ?? 0)) best = connection;
      if (best?.room === PIPELINE) break;
    }
    return best;
  }

  #openAnother(): void {
    this.#opening++;
    setTimeout(() => this.#connect(), this.#pauseMs);
  }

  async #connect(): Promise<void> {
    try {
      const client = await connectForRequests(this.#options.url, this.#options.timeoutMs);
      this.#pauseMs = 0;
      this.#open.add(
        new Connection(client, {
          free: () => this.#drain(),
          lost: (connection, error) => this.#lost(connection, error),
          again: (job) => this.#again(job),
        }),
      );
    } catch (error) {
      this.#lastError = error;
      this.#pauseMs = Math.min(MAX_RETRY_DELAY_MS, Math.max(MIN_RETRY_DELAY_MS, this.#pauseMs * 2));
      if (isRefusal(error as Error)) this.#refuseWaiting(this.#waiting.splice(0));
    }
    this.#opening--;
    this.#drain();
  }

  #drain(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#leastBusy();
      if (!connection) break;
      const job = this.#waiting.shift()!;
      if (job.deadline > performance.now()) connection.send(job);
      else this.#refuseWaiting([job]);
    }
    if (this.#waiting.length > 0 && this.#open.size + this.#opening < this.#options.connections)
      this.#openAnother();
  }

  #lost(connection: Connection, error: unknown): void {
    this.#open.delete(connection);
    this.#lastError = error;
    this.#drain();
  }

  #again(job: Job): void {
    job.attempts++;
    this.#waiting.unshift(job);
    this.#drain();
  }

  #endOverdue(): void {
    const now = performance.now();
    // After a pause of this process the answers may be here and only not read yet: they come first.
    const paused = now - this.#lookedAt > 5 * WATCH_MS;
    this.#lookedAt = now;
    if (paused) return;
    for (const connection of this.#open) {
      if ((connection.oldestDeadline ?? Number.POSITIVE_INFINITY) <= now) connection.destroy();
    }
    // Deadlines are in the order of arrival, but for jobs that are sent again and stand in front.
    const overdue = this.#waiting.filter((job) => job.deadline <= now);
    if (overdue.length === 0) return;
    this.#waiting = this.#waiting.filter((job) => job.deadline > now);
    this.#refuseWaiting(overdue);
  }

  #refuseWaiting(jobs: readonly Job[]): void {
    const reason = this.#open.size > 0 ? 'its connections are all busy' : 'it could not be reached in time';
    for (const job of jobs) job.reject(new DatabaseUnavailable(reason, { cause: this.#lastError }));
  }
}

type Owner = {
  readonly free: () => void;
  readonly lost: (connection: Connection, error: unknown) => void;
  readonly again: (job: Job) => void;
};

/** Names of prepared statements: one a text, on every connection alike. */
const names = new Map<string, string>();
function nameOf(sql: string): string {
  let name = names.get(sql);
  if (!name) {
    name = `s${names.size + 1}`;
    names.set(sql, name);
  }
  return name;
}

class Connection {
  readonly #client: pg.Client;
  readonly #owner: Owner;
  /** In the order they were sent, which is the order they are answered in. */
  readonly #sent: Job[] = [];
  #gone = false;
  /** Takes no further jobs, and closes when it has finished those it has. */
  #retiring = false;

  constructor(client: pg.Client, owner: Owner) {
    this.#client = client;
    this.#owner = owner;
    client.on('error', (error) => this.#lose(error));
    client.on('end', () => this.#lose(new Error('the database closed the connection')));
  }

  get busy(): number {
    return this.#sent.length;
  }

  get room(): number {
    return this.#gone || this.#retiring ? 0 : PIPELINE - this.#sent.length;
  }

  get oldestDeadline(): number | undefined {
    return this.#sent[0]?.deadline;
  }

  /** All statements of the job at once: a transaction too takes one way there and back. */
  send(job: Job): void {
    this.#sent.push(job);
    const rows: unknown[][] = [];
    let failure: Error | undefined;
    const queries = job.statements.map(({ sql, values }) => ({
      name: nameOf(sql),
      text: sql,
      values: values.map(storable),
      ...(job.columns && { rowMode: 'array' as const }),
    }));
    // A COMMIT after a failed statement is answered with ROLLBACK, and without an error.
    const all = queries.length === 1 ? queries : [BEGIN, ...queries, COMMIT];
    for (const [index, query] of all.entries()) {
      this.#client.query(query, (error: Error | null, result: pg.QueryResult) => {
        if (error) failure ??= error;
        else if ('name' in query) rows.push(result.rows);
        if (index === all.length - 1) this.#settle(job, failure, rows);
      });
    }
  }

  destroy(): void {
    this.#lose(new Error('the database did not answer in time'));
    cut(this.#client);
  }

  async end(): Promise<void> {
    await this.#client.end();
  }

  #settle(job: Job, failure: Error | undefined, rows: unknown[][]): void {
    const index = this.#sent.indexOf(job);
    if (index < 0) return;
    this.#sent.splice(index, 1);
    if (!failure) job.resolve(rows);
    else if (isConnectionFailure(failure)) {
      this.#fail(job, failure);
      this.#retiring = true;
    } else if (isStalePlan(failure) && job.attempts === 0) {
      // Refused before it ran: the schema changed under a prepared statement. A new connection prepares anew.
      this.#retiring = true;
      this.#owner.again(job);
    } else job.reject(failure);
    if (this.#retiring && this.#sent.length === 0) this.destroy();
    this.#owner.free();
  }

  #lose(error: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#owner.lost(this, error);
    for (const job of this.#sent.splice(0)) this.#fail(job, error);
  }

  /** The statement was sent and its answer never came: only what changes nothing may be sent again. */
  #fail(job: Job, error: Error): void {
    if (!job.repeatable) job.reject(new OutcomeUnknown('the database connection was lost', { cause: error }));
    else if (job.attempts === 0) this.#owner.again(job);
    else job.reject(new DatabaseUnavailable('the database connection was lost', { cause: error }));
  }
}

/**
 * PostgreSQL keeps no NUL in a text and fails on one. Nothing that is compared holds the replacement
 * character, so a text with a NUL matches nothing, as it should.
 */
const storable = (value: Value): Value =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;

const codeOf = (error: Error): string => String((error as Error & { code?: unknown }).code ?? '');

/** An SQLSTATE, as opposed to a code of the system such as EPIPE, which has five letters too. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

/** The server ended the session (class 08, 25P03, 57P01 to 57P05), or the network did. */
function isConnectionFailure(error: Error): boolean {
  const code = codeOf(error);
  return !SQLSTATE.test(code) || /^(08|25P03|57P0[1-5])/.test(code);
}

const isStalePlan = (error: Error): boolean =>
  codeOf(error) === '26000' || (codeOf(error) === '0A000' && /cached plan/.test(error.message));

/** A wrong password or database name does not mend itself while somebody waits. */
const isRefusal = (error: Error): boolean => /^(28|3D)/.test(codeOf(error));
