import { onImmediate } from '../../batch.ts';
import type { BatchableStatement } from './batchable-statement.ts';
import {
  DatabaseUnavailable,
  OutcomeUnknown,
  type RowArray,
  type Statement,
  StatementRefused,
  type Value,
} from './driver.ts';

/**
 * Requests that go in one statement: half of those that wait, so that the database works for one half while the other
 * half is answered. Less than so many are not worth halving; more than so many would keep others waiting.
 */
const MIN_HALF = 16;
const MAX_BATCH_SIZE = 200;
const MAX_WAITING = 10_000;

type Request = {
  readonly values: readonly Value[];
  readonly since: number;
  readonly resolve: (row: RowArray | undefined) => void;
  readonly reject: (error: unknown) => void;
};

/** Runs one statement and returns the rows of its answer as arrays of columns. */
export type Run = (statement: Statement, repeatable: boolean) => Promise<RowArray[]>;

/** The requests for one step. One statement is under way at a time; while it is, the next gather. */
class Queue {
  readonly step: BatchableStatement;
  waiting: Request[] = [];
  underWay = false;
  /** Whether the end of this turn is waited for, so that its requests go together. */
  gathering = false;

  constructor(step: BatchableStatement) {
    this.step = step;
  }

  next(): Request[] {
    const half = Math.ceil(this.waiting.length / 2);
    return this.waiting.splice(0, Math.min(MAX_BATCH_SIZE, Math.max(MIN_HALF, half)));
  }
}

/**
 * The requests of one turn of the event loop that take the same step go to PostgreSQL as one statement over
 * arrays: one way there and back, one plan, one wait for the disk.
 */
export class StatementBatcher {
  readonly #longestWaitMs: number;
  readonly #run: Run;
  readonly #queues = new Map<BatchableStatement, Queue>();
  /** False where the engine cannot do many in one statement. */
  batching = true;

  /** Who has waited longer than `longestWaitMs` is refused instead of sent: then it is known that nothing was changed. */
  constructor(longestWaitMs: number, run: Run) {
    this.#longestWaitMs = longestWaitMs;
    this.#run = run;
  }

  run(step: BatchableStatement, values: readonly Value[]): Promise<RowArray | undefined> {
    return new Promise((resolve, reject) => {
      const queue = this.#queueOf(step);
      if (queue.waiting.length >= MAX_WAITING)
        return reject(new DatabaseUnavailable('too many requests wait for the database'));
      queue.waiting.push({ values, since: performance.now(), resolve, reject });
      this.#gather(queue);
    });
  }

  get busy(): boolean {
    return this.#queues.values().some(({ waiting, underWay }) => underWay || waiting.length > 0);
  }

  #queueOf(step: BatchableStatement): Queue {
    let queue = this.#queues.get(step);
    if (!queue) {
      queue = new Queue(step);
      this.#queues.set(step, queue);
    }
    return queue;
  }

  #gather(queue: Queue): void {
    if (queue.gathering || queue.waiting.length === 0 || (this.batching && queue.underWay)) return;
    queue.gathering = true;
    onImmediate(() => {
      queue.gathering = false;
      if (this.batching) void this.#send(queue, this.#inTime(queue.next()));
      else for (const request of queue.waiting.splice(0)) void this.#sendOne(queue.step, request);
      this.#gather(queue);
    });
  }

  #inTime(requests: readonly Request[]): Request[] {
    const earliest = performance.now() - this.#longestWaitMs;
    for (const { since, reject } of requests)
      if (since < earliest) reject(new DatabaseUnavailable('it was busy for too long'));
    return requests.filter(({ since }) => since >= earliest);
  }

  async #send(queue: Queue, requests: readonly Request[]): Promise<void> {
    if (requests.length === 0) return;
    queue.underWay = true;
    if (requests.length === 1) await this.#sendOne(queue.step, requests[0]!);
    else await this.#sendMany(queue.step, requests);
    queue.underWay = false;
    this.#gather(queue);
  }

  async #sendOne(
    { single, changes }: BatchableStatement,
    { values, resolve, reject }: Request,
  ): Promise<void> {
    try {
      resolve((await this.#run({ sql: single, values }, !changes))[0]);
    } catch (error) {
      reject(error);
    }
  }

  async #sendMany(step: BatchableStatement, requests: readonly Request[]): Promise<void> {
    // Whoever locks several rows locks them in the same order: then nobody waits in a circle.
    const sorted = requests.toSorted(byKey);
    const values = step.types.map((type, column) => arrayOf(type, sorted, column));
    let rows: RowArray[];
    try {
      rows = await this.#run({ sql: step.batch, values }, !step.changes);
    } catch (error) {
      if (isAway(error)) for (const { reject } of sorted) reject(error);
      // Nothing was changed. Whose fault it was shows when each is on its own; the others must not suffer for it.
      else for (const request of sorted) void this.#sendOne(step, request);
      return;
    }
    const found: (RowArray | undefined)[] = Array.from({ length: sorted.length });
    for (const row of rows) found[Number(row[0]) - 1] = row.slice(1);
    for (const [index, { resolve }] of sorted.entries()) resolve(found[index]);
  }
}

/** Not this statement alone would fail. */
const isAway = (error: unknown): boolean =>
  error instanceof OutcomeUnknown ||
  (error instanceof DatabaseUnavailable && !(error instanceof StatementRefused));

function byKey({ values: a }: Request, { values: b }: Request): number {
  for (const index of [0, 1]) {
    if (a[index]! < b[index]!) return -1;
    if (a[index]! > b[index]!) return 1;
  }
  return 0;
}

/** One parameter of all requests, as PostgreSQL writes an array (postgresql.org/docs/current/arrays.html, 8.15.6). */
function arrayOf(
  type: BatchableStatement['types'][number],
  requests: readonly Request[],
  column: number,
): string {
  let text = '{';
  for (const { values } of requests) {
    const value = values[column];
    if (text.length > 1) text += ',';
    text += type === 'text' && typeof value === 'string' ? quoted(value) : String(value ?? 'NULL');
  }
  return `${text}}`;
}

const quoted = (text: string): string => `"${/["\\]/.test(text) ? text.replaceAll(/["\\]/g, '\\$&') : text}"`;
