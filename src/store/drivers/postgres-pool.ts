import { DatabaseUnavailable } from '../errors.ts';
import type { Row, RowArray, Statement } from './driver.ts';
import { setUpForRequests } from './postgres-client.ts';
import { Connection, type Job } from './postgres-connection.ts';
import { isLoginRefused } from './postgres-errors.ts';
import type { PostgresServers } from './postgres-servers.ts';

type PoolOptions = {
  readonly servers: PostgresServers;
  readonly connections: number;
  /** Limit of a job from the moment it is submitted, waiting included. */
  readonly timeoutMs: number;
};

const MAX_WAITING = 10_000;
const WATCH_INTERVAL_MS = 100;
const MIN_RETRY_DELAY_MS = 50;
const MAX_RETRY_DELAY_MS = 1_000;

/**
 * A fixed number of connections, opened when needed and replaced when they die. Every job ends within its deadline,
 * whatever the server does: a connection whose response is overdue is destroyed, and a job that waits too long is
 * refused.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #open = new Set<Connection>();
  #opening = 0;
  #waiting: Job[] = [];
  #retryDelayMs = 0;
  #closed = false;
  #lastError: unknown;
  #watchedAt = performance.now();
  readonly #watchTimer: NodeJS.Timeout;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#watchTimer = setInterval(() => this.#endOverdue(), WATCH_INTERVAL_MS).unref();
  }

  run(statements: readonly Statement[], repeatable: boolean): Promise<Row[][]> {
    return this.#submit(statements, repeatable, false) as Promise<Row[][]>;
  }

  /** Runs one statement; its rows come as arrays of their columns. */
  async runForArrays(statement: Statement, repeatable: boolean): Promise<RowArray[]> {
    return (await this.#submit([statement], repeatable, true))[0] as RowArray[];
  }

  /** Waits for the jobs under way, then closes. */
  async close(): Promise<void> {
    this.#closed = true;
    const unfinished = () =>
      this.#opening > 0 || this.#waiting.length > 0 || [...this.#open].some(({ busy }) => busy);
    while (unfinished()) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clearInterval(this.#watchTimer);
    await Promise.all([...this.#open].map((connection) => connection.end()));
  }

  #submit(statements: readonly Statement[], repeatable: boolean, asArrays: boolean): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.#options.timeoutMs;
      this.#sendOrQueue({ statements, asArrays, repeatable, deadline, resolve, reject, attempts: 0 });
    });
  }

  #sendOrQueue(job: Job): void {
    if (this.#closed) {
      job.reject(new DatabaseUnavailable('the database was closed'));
      return;
    }
    const connection = this.#free();
    if (connection) return void connection.send(job);
    if (this.#open.size + this.#opening < this.#options.connections) this.#openAnother();
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(job);
    else job.reject(new DatabaseUnavailable('too many statements wait for a connection'));
  }

  #free(): Connection | undefined {
    return this.#open.values().find(({ busy }) => !busy);
  }

  #openAnother(): void {
    this.#opening++;
    setTimeout(() => this.#connect(), this.#retryDelayMs);
  }

  async #connect(): Promise<void> {
    try {
      const { servers, timeoutMs } = this.#options;
      const setUp = setUpForRequests(timeoutMs);
      const client = await servers.connect({ timeoutMs, pipeline: true, setUp });
      this.#retryDelayMs = 0;
      this.#open.add(
        new Connection(client, {
          onFree: () => this.#drain(),
          onLost: (connection, error) => this.#forget(connection, error),
          onRetry: (job) => this.#retry(job),
        }),
      );
    } catch (error) {
      this.#lastError = error;
      this.#retryDelayMs = Math.min(MAX_RETRY_DELAY_MS, Math.max(MIN_RETRY_DELAY_MS, this.#retryDelayMs * 2));
      if (isLoginRefused(error as Error)) this.#refuseWaiting(this.#waiting.splice(0));
    }
    this.#opening--;
    this.#drain();
  }

  #drain(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#free();
      if (!connection) break;
      const job = this.#waiting.shift()!;
      if (job.deadline > performance.now()) connection.send(job);
      else this.#refuseWaiting([job]);
    }
    if (this.#waiting.length > 0 && this.#open.size + this.#opening < this.#options.connections)
      this.#openAnother();
  }

  #forget(connection: Connection, error: unknown): void {
    this.#open.delete(connection);
    this.#lastError = error;
    this.#drain();
  }

  #retry(job: Job): void {
    job.attempts++;
    this.#waiting.unshift(job);
    this.#drain();
  }

  #endOverdue(): void {
    const now = performance.now();
    // After a pause of this process the responses may have arrived unread: they are read first.
    const wasPaused = now - this.#watchedAt > 5 * WATCH_INTERVAL_MS;
    this.#watchedAt = now;
    if (wasPaused) return;
    for (const connection of this.#open) {
      if (connection.deadline <= now) connection.destroy();
    }
    // Not only the first: a retried job is at the front of the queue, whatever its deadline.
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
