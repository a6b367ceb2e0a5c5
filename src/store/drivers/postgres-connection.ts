import type pg from 'pg';
import { DatabaseUnavailable, OutcomeUnknown } from '../errors.ts';
import type { Statement, Value } from './driver.ts';
import { destroy } from './postgres-client.ts';
import { isLostResponse, isReadOnly, isSessionEnd, isStalePlan } from './postgres-errors.ts';

/** One statement, or several as a transaction. */
export type Job = {
  readonly statements: readonly Statement[];
  /** Rows as arrays of their columns instead of objects. */
  readonly asArrays: boolean;
  /** Changes nothing, so it may be sent again when its connection was lost. */
  readonly repeatable: boolean;
  readonly deadline: number;
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: unknown) => void;
  attempts: number;
};

/** Callbacks to the pool that owns a connection. */
type Owner = {
  readonly onFree: () => void;
  readonly onLost: (connection: Connection, error: unknown) => void;
  readonly onRetry: (job: Job) => void;
};

/** A new connection that is read-only as well is not replaced at once: the database itself is. */
const MIN_READ_ONLY_AGE_MS = 250;

const BEGIN = { text: 'BEGIN' };
const COMMIT = { text: 'COMMIT' };

/** Names of prepared statements: one per SQL text, the same on every connection. */
const statementNames = new Map<string, string>();
function nameOf(sql: string): string {
  let name = statementNames.get(sql);
  if (!name) {
    name = `s${statementNames.size + 1}`;
    statementNames.set(sql, name);
  }
  return name;
}

/**
 * PostgreSQL stores no NUL in a text and fails on one. No stored text that is compared contains U+FFFD, so a text
 * with a NUL matches nothing, as it should.
 */
const storable = (value: Value): Value =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;

/** A connection, with one job under way at a time (decision 010). */
export class Connection {
  readonly #client: pg.Client;
  readonly #owner: Owner;
  #job: Job | undefined;
  readonly #openedAt = performance.now();
  #gone = false;

  constructor(client: pg.Client, owner: Owner) {
    this.#client = client;
    this.#owner = owner;
    client.on('error', (error) => this.#lose(error));
    client.on('end', () => this.#lose(new Error('the database closed the connection')));
  }

  get busy(): boolean {
    return this.#job !== undefined;
  }

  get deadline(): number {
    return this.#job?.deadline ?? Number.POSITIVE_INFINITY;
  }

  /** Sends all statements of the job at once: a transaction too costs one round trip. */
  send(job: Job): void {
    this.#job = job;
    const rows: unknown[][] = [];
    let failure: Error | undefined;
    const queries = job.statements.map(({ sql, values }) => ({
      name: nameOf(sql),
      text: sql,
      values: values.map(storable),
      ...(job.asArrays && { rowMode: 'array' as const }),
    }));
    // PostgreSQL turns a COMMIT after a failed statement into a ROLLBACK, without an error.
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
    this.#lose(new Error('the database did not respond in time'));
    destroy(this.#client);
  }

  async end(): Promise<void> {
    await this.#client.end();
  }

  #settle(job: Job, failure: Error | undefined, rows: unknown[][]): void {
    if (this.#job !== job) return;
    this.#job = undefined;
    if (!failure) job.resolve(rows);
    else if (isLostResponse(failure)) {
      if (isSessionEnd(failure)) this.destroy();
      this.#fail(job, failure);
    } else if (isStalePlan(failure) && performance.now() < job.deadline) {
      // Refused before it ran: the schema changed under a prepared statement. The other connections may have it too; each
      // is replaced, and a new one prepares it again.
      this.destroy();
      this.#owner.onRetry(job);
    } else {
      // After a failover this server stays a replica, or the session read-only, though the database can be written.
      if (isReadOnly(failure) && performance.now() - this.#openedAt >= MIN_READ_ONLY_AGE_MS) this.destroy();
      job.reject(failure);
    }
    this.#owner.onFree();
  }

  #lose(error: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#owner.onLost(this, error);
    const job = this.#job;
    this.#job = undefined;
    if (job) this.#fail(job, error);
  }

  /** The job was sent and its response never came: only a job that changes nothing may be sent again. */
  #fail(job: Job, error: Error): void {
    if (!job.repeatable) job.reject(new OutcomeUnknown('the database connection was lost', { cause: error }));
    else if (job.attempts === 0) this.#owner.onRetry(job);
    else job.reject(new DatabaseUnavailable('the database connection was lost', { cause: error }));
  }
}
