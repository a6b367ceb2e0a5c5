import pg from 'pg';
import type { BatchableStatement } from './batchable-statement.ts';
import {
  DatabaseUnavailable,
  type Driver,
  DuplicateKey,
  type Migration,
  OutcomeUnknown,
  type Row,
  type RowArray,
  type Statement,
  StatementRefused,
  type Value,
} from './driver.ts';
import { Listener } from './postgres-listener.ts';
import { applyMigrations } from './postgres-migrate.ts';
import { newClient, PipelinedPool } from './postgres-pool.ts';
import { StatementBatcher } from './statement-batcher.ts';

const TIMEOUT_MS = 5_000;
const CHANNEL = 'postern_changes';

export type PostgresOptions = {
  readonly connections?: number;
  readonly timeoutMs?: number;
};

/** PostgreSQL, or what speaks like it. Several nodes may use one database. */
export class PostgresDriver implements Driver {
  readonly engine = 'postgres';
  /** Sent with the change and delivered when it commits, to every node and this one. */
  readonly notifyStatements: readonly Statement[] = [
    { sql: `SELECT pg_notify('${CHANNEL}', '') AS told`, values: [] },
  ];
  readonly #url: string;
  readonly #connections: PipelinedPool;
  readonly #steps: StatementBatcher;
  readonly #listener: Listener;

  constructor(url: string, { connections = 10, timeoutMs = TIMEOUT_MS }: PostgresOptions = {}) {
    this.#url = url;
    this.#connections = new PipelinedPool({ url, connections, timeoutMs });
    this.#steps = new StatementBatcher(timeoutMs / 2, (statement, repeatable) =>
      this.#translating(this.#connections.columns(statement, repeatable)),
    );
    this.#listener = new Listener(url, CHANNEL);
  }

  async read(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return (await this.#run([{ sql, values }], true))[0]!;
  }

  async write(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return (await this.#run([{ sql, values }], false))[0]!;
  }

  transaction(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#run(statements, false);
  }

  runBatched(step: BatchableStatement, values: readonly Value[]): Promise<RowArray | undefined> {
    return this.#steps.run(step, values);
  }

  /** On a connection of its own, where a long statement may take its time. */
  async migrate(migrations: readonly Migration[]): Promise<string[]> {
    const client = newClient(this.#url, 0);
    client.on('error', () => {});
    try {
      await client.connect();
      const applied = await applyMigrations(client, migrations);
      // A statement over the rows of many users would go to many shards.
      const citus = await client.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`);
      this.#steps.batching = citus.rows.length === 0;
      return applied;
    } catch (error) {
      throw translated(error);
    } finally {
      await client.end().catch(() => {});
    }
  }

  onExternalChange(listener: () => void): void {
    this.#listener.add(listener);
  }

  async close(): Promise<void> {
    while (this.#steps.busy) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([this.#connections.close(), this.#listener.close()]);
  }

  #run(statements: readonly Statement[], repeatable: boolean): Promise<Row[][]> {
    return this.#translating(this.#connections.run(statements, repeatable));
  }

  async #translating<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw translated(error);
    }
  }
}

/**
 * SQLSTATEs (postgresql.org/docs/current/errcodes-appendix.html) after which nothing was changed and
 * another try may succeed: lock timeout, deadlock and serialization; statement timeout, out of
 * resources, a server that takes no writes.
 */
const REFUSED = /^(55P03|40001|40P01)/;
const UNAVAILABLE = /^(57014|53|25006|58|08|57P|28|3D)/;
/** The server itself does not know. */
const UNKNOWN = '40003';

function translated(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable || error instanceof OutcomeUnknown || !(error instanceof Error))
    return error;
  const code = String((error as Error & { code?: unknown }).code ?? '');
  if (code === '23505') return new DuplicateKey('duplicate key', { cause: error });
  if (code === UNKNOWN) return new OutcomeUnknown('the database does not know the outcome', { cause: error });
  if (REFUSED.test(code)) return new StatementRefused('the statement was undone', { cause: error });
  const unavailable = error instanceof pg.DatabaseError ? UNAVAILABLE.test(code) : 'syscall' in error;
  return unavailable ? new DatabaseUnavailable('the database failed', { cause: error }) : error;
}
