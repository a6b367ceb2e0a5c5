import { rmSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Batch, oncePerTurn } from '../../batch.ts';
import { DatabaseUnavailable } from '../errors.ts';
import type { BatchableStatement } from './batchable-statement.ts';
import {
  type Driver,
  HEARTBEAT,
  type Migration,
  type Row,
  type RowArray,
  type Statement,
  type Value,
} from './driver.ts';
import { commitFailure, isBusy, translate } from './sqlite-errors.ts';
import { applyMigrations } from './sqlite-migrate.ts';

const BUSY_RETRY_MS = 10;
const BUSY_TIMEOUT_MS = 5_000;
const WATCH_INTERVAL_MS = 200;
const MAX_QUEUE_LENGTH = 20_000;
/** Page cache in memory. SQLite's default is a quarter of it. */
const CACHE_KIB = 8_000;
/** The write-ahead log grows while a reader, such as a backup, keeps it from being reset. Afterwards it shrinks to this. */
const MAX_IDLE_WAL_BYTES = 16 * 1024 * 1024;

type Job<T> = {
  readonly run: () => T;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
  result?: T;
  error?: unknown;
};

/**
 * SQLite in this process. The reads of one turn of the event loop share a transaction, and so do the writes. Each
 * write resolves after the commit (group commit, decision 006): one wait for the disk per turn instead of one per
 * request.
 */
export class SqliteDriver implements Driver {
  readonly engine = 'sqlite';
  readonly writeProbe = HEARTBEAT;
  readonly #path: string;
  #db: DatabaseSync | undefined;
  #inode = 0;
  /** Prepared statements by their SQL, for rows as objects and as arrays. */
  readonly #statements = {
    objects: new Map<string, StatementSync>(),
    arrays: new Map<string, StatementSync>(),
  };
  readonly #reads = new Batch<Job<unknown>>(oncePerTurn(), (jobs) => this.#flushReads(jobs));
  #writes: Job<unknown>[] = [];
  readonly #scheduleFlush = oncePerTurn();
  #flushing = false;
  #busySince: number | undefined;
  #listeners: (() => void)[] = [];
  #dataVersion = 0;
  readonly #watchTimer: NodeJS.Timeout;

  constructor(path: string) {
    this.#path = path;
    this.#openWithRetries();
    this.#watchTimer = setInterval(() => this.#checkFile(), WATCH_INTERVAL_MS).unref();
  }

  read(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return this.#read(() => this.#run(sql, values));
  }

  write(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return this.#write(() => this.#run(sql, values));
  }

  runBatched(
    { single, changes }: BatchableStatement,
    values: readonly Value[],
  ): Promise<RowArray | undefined> {
    const run = () => this.#runForArray(single, values);
    return changes ? this.#write(run) : this.#read(run);
  }

  transaction(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#write(() => this.#runAll(statements));
  }

  async migrate(migrations: readonly Migration[]): Promise<string[]> {
    return applyMigrations(this.#database(), migrations);
  }

  /** SQLite itself tells other processes that something changed (`data_version`), but not what. */
  notifyStatements(): readonly Statement[] {
    return [];
  }

  onExternalChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#watchTimer);
    while (this.#reads.size + this.#writes.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    this.#close();
  }

  /** Processes that create a database at the same time can get SQLITE_BUSY whatever the busy timeout. */
  #openWithRetries(): void {
    const deadline = performance.now() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        this.#open({ create: true });
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_RETRY_MS);
      }
    }
  }

  #open({ create }: { create: boolean }): void {
    if (!create) this.#removeStaleLog();
    const db = new DatabaseSync(this.#path, { timeout: 0 });
    try {
      db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA journal_size_limit = ${MAX_IDLE_WAL_BYTES}`);
      this.#inode = statSync(this.#path).ino;
      this.#dataVersion = dataVersion(db);
      db.exec('PRAGMA busy_timeout = 0');
    } catch (error) {
      db.close();
      throw error;
    }
    this.#db = db;
  }

  /**
   * Another file at this path is a restored backup. The write-ahead log of the earlier file is still beside it, and
   * SQLite would replay that log into the backup: a mixture of two databases.
   */
  #removeStaleLog(): void {
    const file = statSync(this.#path, { throwIfNoEntry: false });
    if (!file) throw new DatabaseUnavailable('the database file is gone');
    if (file.ino !== this.#inode)
      for (const suffix of ['-wal', '-shm']) rmSync(this.#path + suffix, { force: true });
  }

  #close(): void {
    this.#statements.objects.clear();
    this.#statements.arrays.clear();
    this.#db?.close();
    this.#db = undefined;
  }

  #database(): DatabaseSync {
    if (!this.#db) throw new DatabaseUnavailable('the database file is gone');
    return this.#db;
  }

  /**
   * An open file keeps working after it was moved or deleted, and everything written to it is lost. So the file
   * at the path is checked before each commit, and a few times per second for reads.
   */
  #checkFile(): void {
    if (this.#db && !this.#fileIsOurs()) this.#close();
    try {
      if (!this.#db) {
        this.#open({ create: false });
        this.#notifyListeners();
        return;
      }
      const version = dataVersion(this.#db);
      if (version !== this.#dataVersion) {
        this.#dataVersion = version;
        this.#notifyListeners();
      }
    } catch {
      // Still gone or locked: the next check tries again, and until then every statement is refused.
    }
  }

  #fileIsOurs(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#inode;
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  #read<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reads.add({ run, resolve, reject } as Job<unknown>);
    });
  }

  #write<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#writes.length >= MAX_QUEUE_LENGTH)
        return reject(new DatabaseUnavailable('too many writes are waiting'));
      this.#writes.push({ run, resolve, reject } as Job<unknown>);
      if (!this.#flushing) {
        this.#flushing = true;
        this.#scheduleFlush(() => this.#flushWrites());
      }
    });
  }

  #run(sql: string, values: readonly Value[]): Row[] {
    return this.#prepared(sql, 'objects').all(...values) as Row[];
  }

  #runForArray(sql: string, values: readonly Value[]): RowArray | undefined {
    return this.#prepared(sql, 'arrays').get(...values) as RowArray | undefined;
  }

  /** All or none: when a statement fails, the savepoint undoes those before it. */
  #runAll(statements: readonly Statement[]): Row[][] {
    const db = this.#database();
    db.exec('SAVEPOINT job');
    try {
      const rows = statements.map(({ sql, values }) => this.#run(sql, values));
      db.exec('RELEASE job');
      return rows;
    } catch (error) {
      if (db.isTransaction) undo(db);
      throw error;
    }
  }

  #prepared(sql: string, rowsAs: 'objects' | 'arrays'): StatementSync {
    const statements = this.#statements[rowsAs];
    let statement = statements.get(sql);
    if (!statement) {
      statement = this.#database().prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
      statement.setReturnArrays(rowsAs === 'arrays');
      statements.set(sql, statement);
    }
    return statement;
  }

  #flushReads(jobs: readonly Job<unknown>[]): void {
    try {
      this.#database();
      if (jobs.length > 1) this.#run('BEGIN', []);
      for (const job of jobs) runJob(job);
      if (jobs.length > 1) this.#run('COMMIT', []);
    } catch (error) {
      failAll(jobs, error);
      // A connection that cannot end its transaction is useless; the next check opens another.
      try {
        if (this.#db?.isTransaction) this.#run('ROLLBACK', []);
      } catch {
        this.#close();
      }
    }
    settle(jobs);
  }

  #flushWrites(): void {
    const jobs = this.#writes;
    try {
      if (!this.#fileIsOurs()) this.#checkFile();
      this.#database();
      this.#run('BEGIN IMMEDIATE', []);
      this.#writes = [];
      this.#commit(jobs);
    } catch (error) {
      if (this.#waitForLock(error)) return;
      this.#writes = [];
      failAll(jobs, error);
    }
    this.#busySince = undefined;
    this.#flushing = false;
    settle(jobs);
  }

  /** Another process writes: keeps the queue and tries again later, without blocking the event loop. */
  #waitForLock(error: unknown): boolean {
    if (!isBusy(error) || this.#writes.length === 0) return false;
    const now = performance.now();
    this.#busySince ??= now;
    if (now - this.#busySince > BUSY_TIMEOUT_MS) return false;
    setTimeout(() => this.#flushWrites(), BUSY_RETRY_MS);
    return true;
  }

  /** Runs the jobs inside the transaction and commits once. Throws when nothing was committed. */
  #commit(jobs: readonly Job<unknown>[]): void {
    const db = this.#database();
    try {
      for (const job of jobs) {
        runJob(job);
        // A full or failing disk ends the whole transaction: then no write took effect.
        if (!db.isTransaction) throw job.error;
      }
    } catch (error) {
      if (db.isTransaction) this.#run('ROLLBACK', []);
      throw error;
    }
    try {
      this.#run('COMMIT', []);
    } catch (error) {
      if (db.isTransaction) this.#run('ROLLBACK', []);
      throw commitFailure(error);
    }
  }
}

/** When the savepoint cannot be undone alone, the whole transaction is: half a job is never committed. */
function undo(db: DatabaseSync): void {
  try {
    db.exec('ROLLBACK TO job; RELEASE job');
  } catch {
    db.exec('ROLLBACK');
  }
}

/** A failure is this job's alone: SQLite undoes only the failed statement. */
function runJob(job: Job<unknown>): void {
  try {
    job.result = job.run();
  } catch (error) {
    job.error = error;
  }
}

function failAll(jobs: readonly Job<unknown>[], error: unknown): void {
  for (const job of jobs) job.error = error;
}

function settle(jobs: readonly Job<unknown>[]): void {
  for (const job of jobs) {
    if (job.error === undefined) job.resolve(job.result);
    else job.reject(translate(job.error));
  }
}

function dataVersion(db: DatabaseSync): number {
  return (db.prepare('PRAGMA data_version').get() as { data_version: number }).data_version;
}
