import { onImmediate } from '../../batch.ts';
import { DatabaseUnavailable, OutcomeUnknown, StatementRefused } from '../errors.ts';
import type { BatchableStatement } from './batchable-statement.ts';
import type { RowArray, Statement, Value } from './driver.ts';

/**
 * A batch is half of the waiting requests, so that the database works for one half while the other half is answered:
 * at least 16, because fewer are not worth halving, and at most 200, because more would keep others waiting.
 */
const MIN_BATCH_SIZE = 16;
const MAX_BATCH_SIZE = 200;
const MAX_WAITING = 10_000;

type Request = {
  readonly values: readonly Value[];
  readonly since: number;
  readonly resolve: (row: RowArray | undefined) => void;
  readonly reject: (error: unknown) => void;
};

/** Runs one statement and returns its rows as arrays of their columns. */
type Run = (statement: Statement, repeatable: boolean) => Promise<RowArray[]>;

/** The requests for one statement. One batch is under way at a time; meanwhile the next requests gather. */
class Queue {
  readonly statement: BatchableStatement;
  waiting: Request[] = [];
  underWay = false;
  /** A batch is scheduled for the end of this turn of the event loop. */
  scheduled = false;

  constructor(statement: BatchableStatement) {
    this.statement = statement;
  }

  takeBatch(): Request[] {
    const half = Math.ceil(this.waiting.length / 2);
    return this.waiting.splice(0, Math.min(MAX_BATCH_SIZE, Math.max(MIN_BATCH_SIZE, half)));
  }
}

/**
 * Sends the requests of one turn of the event loop that run the same statement to PostgreSQL as one statement over
 * arrays: one round trip, one plan, one wait for the disk (decision 007).
 */
export class StatementBatcher {
  readonly #maxWaitMs: number;
  readonly #run: Run;
  readonly #queues = new Map<BatchableStatement, Queue>();
  /** False when each request needs a statement of its own. */
  batching = true;

  /** A request that waited longer than `maxWaitMs` is refused, not sent: then it is known that nothing was changed. */
  constructor(maxWaitMs: number, run: Run) {
    this.#maxWaitMs = maxWaitMs;
    this.#run = run;
  }

  run(statement: BatchableStatement, values: readonly Value[]): Promise<RowArray | undefined> {
    return new Promise((resolve, reject) => {
      const queue = this.#queueOf(statement);
      if (queue.waiting.length >= MAX_WAITING)
        return reject(new DatabaseUnavailable('too many requests wait for the database'));
      queue.waiting.push({ values, since: performance.now(), resolve, reject });
      this.#schedule(queue);
    });
  }

  get busy(): boolean {
    return this.#queues.values().some(({ waiting, underWay }) => underWay || waiting.length > 0);
  }

  #queueOf(statement: BatchableStatement): Queue {
    let queue = this.#queues.get(statement);
    if (!queue) {
      queue = new Queue(statement);
      this.#queues.set(statement, queue);
    }
    return queue;
  }

  #schedule(queue: Queue): void {
    if (queue.scheduled || queue.waiting.length === 0 || (this.batching && queue.underWay)) return;
    queue.scheduled = true;
    onImmediate(() => {
      queue.scheduled = false;
      if (this.batching) void this.#send(queue, this.#refuseLate(queue.takeBatch()));
      else for (const request of queue.waiting.splice(0)) void this.#sendSingle(queue.statement, request);
      this.#schedule(queue);
    });
  }

  #refuseLate(requests: readonly Request[]): Request[] {
    const earliest = performance.now() - this.#maxWaitMs;
    for (const { since, reject } of requests)
      if (since < earliest) reject(new DatabaseUnavailable('the database was busy for too long'));
    return requests.filter(({ since }) => since >= earliest);
  }

  async #send(queue: Queue, requests: readonly Request[]): Promise<void> {
    if (requests.length === 0) return;
    queue.underWay = true;
    if (requests.length === 1) await this.#sendSingle(queue.statement, requests[0]!);
    else await this.#sendBatch(queue.statement, requests);
    queue.underWay = false;
    this.#schedule(queue);
  }

  async #sendSingle(
    { single, changes }: BatchableStatement,
    { values, resolve, reject }: Request,
  ): Promise<void> {
    try {
      resolve((await this.#run({ sql: single, values }, !changes))[0]);
    } catch (error) {
      reject(error);
    }
  }

  async #sendBatch(statement: BatchableStatement, requests: readonly Request[]): Promise<void> {
    // Every batch locks its rows in the order of their keys, which prevents deadlocks between batches.
    const sorted = requests.toSorted(byKey);
    const values = statement.types.map((type, index) => arrayLiteral(type, sorted, index));
    let rows: RowArray[];
    try {
      rows = await this.#run({ sql: statement.batch, values }, !statement.changes);
    } catch (error) {
      if (wouldFailForAll(error)) for (const { reject } of sorted) reject(error);
      // Nothing was changed. Sent one by one, only the request at fault fails.
      else for (const request of sorted) void this.#sendSingle(statement, request);
      return;
    }
    const rowsByIndex: (RowArray | undefined)[] = Array.from({ length: sorted.length });
    for (const row of rows) rowsByIndex[Number(row[0]) - 1] = row.slice(1);
    for (const [index, { resolve }] of sorted.entries()) resolve(rowsByIndex[index]);
  }
}

/** The database is away, so that any statement would fail; or the outcome is unknown, so nothing may be sent again. */
const wouldFailForAll = (error: unknown): boolean =>
  error instanceof OutcomeUnknown ||
  (error instanceof DatabaseUnavailable && !(error instanceof StatementRefused));

function byKey({ values: a }: Request, { values: b }: Request): number {
  for (const index of [0, 1]) {
    if (a[index]! < b[index]!) return -1;
    if (a[index]! > b[index]!) return 1;
  }
  return 0;
}

/** One parameter of all requests as an array literal (postgresql.org/docs/current/arrays.html, 8.15.6). */
function arrayLiteral(
  type: BatchableStatement['types'][number],
  requests: readonly Request[],
  parameter: number,
): string {
  let text = '{';
  for (const { values } of requests) {
    const value = values[parameter];
    if (text.length > 1) text += ',';
    text += type === 'text' && typeof value === 'string' ? quoted(value) : String(value ?? 'NULL');
  }
  return `${text}}`;
}

const quoted = (text: string): string => `"${/["\\]/.test(text) ? text.replaceAll(/["\\]/g, '\\$&') : text}"`;
