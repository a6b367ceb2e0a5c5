import { rmSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Batch, oncePerTurn } from '../../batch.ts';
import type { BatchableStatement } from './batchable-statement.ts';
import {
  DatabaseUnavailable,
  type Driver,
  DuplicateKey,
  type Migration,
  type Row,
  type RowArray,
  type Statement,
  type Value,
} from './driver.ts';
import { applyMigrations } from './sqlite-migrate.ts';

/** Result codes of SQLite (sqlite.org/rescode.html). The low byte is the primary code. */
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CONSTRAINT = 19;
const DUPLICATE = new Set([1555, 2067, 2579]);

const BUSY_RETRY_MS = 10;
const BUSY_TIMEOUT_MS = 5_000;
const WATCH_MS = 200;
const MAX_QUEUE_LENGTH = 20_000;
/** Of the database's pages, kept in memory. SQLite's own measure is a quarter of that. */
const CACHE_KIB = 8_000;

type Job<T> = {
  readonly work: () => T;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
  result?: T;
  error?: unknown;
};

/**
 * SQLite in this process. What is asked for in one turn of the event loop is done together, the reads in one
 * transaction and the writes in another. Each answer to a write waits for the commit (group commit): the disk
 * is waited for once a turn instead of once a request.
 */
export class SqliteDriver implements Driver {
  readonly engine = 'sqlite';
  readonly notifyStatements = [];
  readonly #path: string;
  #db: DatabaseSync | undefined;
  #inode = 0;
  /** By their text; those whose rows come as arrays of columns apart. */
  readonly #statements = {
    rows: new Map<string, StatementSync>(),
    columns: new Map<string, StatementSync>(),
  };
  readonly #reads = new Batch<Job<unknown>>(oncePerTurn(), (jobs) => this.#flushReads(jobs));
  #writes: Job<unknown>[] = [];
  readonly #soon = oncePerTurn();
  #flushing = false;
  #busySince: number | undefined;
  #listeners: (() => void)[] = [];
  #dataVersion = 0;
  readonly #watch: NodeJS.Timeout;

  constructor(path: string) {
    this.#path = path;
    this.#openPatiently();
    this.#watch = setInterval(() => this.#look(), WATCH_MS).unref();
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
    const work = () => this.#columns(single, values);
    return changes ? this.#write(work) : this.#read(work);
  }

  transaction(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#write(() => this.#runAll(statements));
  }

  async migrate(migrations: readonly Migration[]): Promise<string[]> {
    return applyMigrations(this.#database(), migrations);
  }

  onExternalChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    while (this.#reads.size + this.#writes.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    this.#close();
  }

  /** Processes that make one database together get in each other's way for a moment, whatever the busy timeout. */
  #openPatiently(): void {
    const until = performance.now() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        this.#open({ create: true });
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_RETRY_MS);
      }
    }
  }

  #open({ create }: { create: boolean }): void {
    if (!create) this.#forgetAnother();
    const db = new DatabaseSync(this.#path, { timeout: 0 });
    try {
      db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
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
   * Another file in the place of ours is a backup put back. SQLite leaves the log of the file it had
   * behind and would play it into the one that is there now: a mixture of two databases.
   */
  #forgetAnother(): void {
    const there = statSync(this.#path, { throwIfNoEntry: false });
    if (!there) throw new DatabaseUnavailable('the database file is gone');
    if (there.ino !== this.#inode)
      for (const log of ['-wal', '-shm']) rmSync(this.#path + log, { force: true });
  }

  #close(): void {
    this.#statements.rows.clear();
    this.#statements.columns.clear();
    this.#db?.close();
    this.#db = undefined;
  }

  #database(): DatabaseSync {
    if (!this.#db) throw new DatabaseUnavailable('the database file is gone');
    return this.#db;
  }

  /**
   * An open file goes on working after somebody moved or deleted it, and what it takes in is lost.
   * So the file behind the path is looked at before each commit, and a few times a second for reads.
   */
  #look(): void {
    const present = statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#inode;
    if (this.#db && !present) this.#close();
    try {
      if (!this.#db) {
        this.#open({ create: false });
        this.#tellListeners();
        return;
      }
      const version = dataVersion(this.#db);
      if (version !== this.#dataVersion) {
        this.#dataVersion = version;
        this.#tellListeners();
      }
    } catch {
      // Still gone or locked: the next look tries again, and until then every statement is refused.
    }
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  #read<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reads.add({ work, resolve, reject } as Job<unknown>);
    });
  }

  #write<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#writes.length >= MAX_QUEUE_LENGTH)
        return reject(new DatabaseUnavailable('too many writes are waiting'));
      this.#writes.push({ work, resolve, reject } as Job<unknown>);
      if (!this.#flushing) {
        this.#flushing = true;
        this.#soon(() => this.#flushWrites());
      }
    });
  }

  #run(sql: string, values: readonly Value[]): Row[] {
    return this.#prepared(sql, 'rows').all(...values) as Row[];
  }

  #columns(sql: string, values: readonly Value[]): RowArray | undefined {
    return this.#prepared(sql, 'columns').get(...values) as RowArray | undefined;
  }

  /** All or none: the savepoint undoes what went before a statement that failed. */
  #runAll(statements: readonly Statement[]): Row[][] {
    const db = this.#database();
    db.exec('SAVEPOINT several');
    try {
      const rows = statements.map(({ sql, values }) => this.#run(sql, values));
      db.exec('RELEASE several');
      return rows;
    } catch (error) {
      if (db.isTransaction) undo(db);
      throw error;
    }
  }

  #prepared(sql: string, form: 'rows' | 'columns'): StatementSync {
    const statements = this.#statements[form];
    let statement = statements.get(sql);
    if (!statement) {
      statement = this.#database().prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
      statement.setReturnArrays(form === 'columns');
      statements.set(sql, statement);
    }
    return statement;
  }

  #flushReads(jobs: readonly Job<unknown>[]): void {
    try {
      this.#database();
      if (jobs.length > 1) this.#run('BEGIN', []);
      for (const job of jobs) perform(job);
      if (jobs.length > 1) this.#run('COMMIT', []);
    } catch (error) {
      failAll(jobs, error);
      // A connection that cannot even end a transaction is of no use; the next look opens another.
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
      if (statSync(this.#path, { throwIfNoEntry: false })?.ino !== this.#inode) this.#look();
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

  /** Another process writes: keep the queue and come back, without holding up the event loop. */
  #waitForLock(error: unknown): boolean {
    if (!isBusy(error) || this.#writes.length === 0) return false;
    const now = performance.now();
    this.#busySince ??= now;
    if (now - this.#busySince > BUSY_TIMEOUT_MS) return false;
    setTimeout(() => this.#flushWrites(), BUSY_RETRY_MS);
    return true;
  }

  /** Inside a transaction: every job for itself, then one commit for all. Throws when nothing was committed. */
  #commit(jobs: readonly Job<unknown>[]): void {
    const db = this.#database();
    try {
      for (const job of jobs) {
        perform(job);
        // A full disk or a failing one ends the whole transaction: then nobody's write took place.
        if (!db.isTransaction) throw job.error;
      }
      this.#run('COMMIT', []);
    } catch (error) {
      if (db.isTransaction) this.#run('ROLLBACK', []);
      throw error;
    }
  }
}

/** What cannot be undone alone is undone with everything else: never half of it committed. */
function undo(db: DatabaseSync): void {
  try {
    db.exec('ROLLBACK TO several; RELEASE several');
  } catch {
    db.exec('ROLLBACK');
  }
}

/** One job's failure is its own: SQLite undoes the failed statement alone. */
function perform(job: Job<unknown>): void {
  try {
    job.result = job.work();
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
    else job.reject(translated(job.error));
  }
}

function dataVersion(db: DatabaseSync): number {
  return (db.prepare('PRAGMA data_version').get() as { data_version: number }).data_version;
}

const primaryCode = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error ? (error.errcode as number) & 0xff : undefined;

function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

function translated(error: unknown): unknown {
  const code = primaryCode(error);
  if (code === undefined) return error;
  const full = (error as unknown as { errcode: number }).errcode;
  if (code === SQLITE_CONSTRAINT)
    return DUPLICATE.has(full) ? new DuplicateKey('duplicate key', { cause: error }) : error;
  return new DatabaseUnavailable('the database failed', { cause: error });
}
