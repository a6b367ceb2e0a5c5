import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { StatementRefused } from '../errors.ts';
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
import { translate } from './postgres-errors.ts';
import { Listener } from './postgres-listener.ts';
import { applyMigrations } from './postgres-migrate.ts';
import { ConnectionPool } from './postgres-pool.ts';
import { PostgresServers } from './postgres-servers.ts';
import { StatementBatcher } from './statement-batcher.ts';

const TIMEOUT_MS = 5_000;
const CHANNEL = 'postern_changes';
/** Of a statement that the database undid. */
const MAX_ATTEMPTS = 4;
const MAX_BACKOFF_MS = 50;

export type PostgresOptions = {
  readonly connections?: number;
  readonly timeoutMs?: number;
};

const COUNT_CHANGE = `
  INSERT INTO heartbeats (name, at) VALUES ('changes', 1)
  ON CONFLICT (name) DO UPDATE SET at = heartbeats.at + 1`;

/** PostgreSQL, or a database that speaks its protocol. Several nodes may use one database. */
export class PostgresDriver implements Driver {
  readonly engine = 'postgres';
  /**
   * On Citus it stays on the server that this node is connected to: a write to a reference table needs all of them, and
   * a worker that is down must not make every node unhealthy.
   */
  get writeProbe(): string {
    return this.#isCitus ? `SELECT pg_logical_emit_message(true, 'postern', 'health') AS lsn` : HEARTBEAT;
  }
  #isCitus = false;
  readonly #servers: PostgresServers;
  readonly #timeoutMs: number;
  readonly #pool: ConnectionPool;
  readonly #batcher: StatementBatcher;
  readonly #listener: Listener;

  constructor(url: string, { connections = 10, timeoutMs = TIMEOUT_MS }: PostgresOptions = {}) {
    this.#servers = new PostgresServers(url);
    this.#timeoutMs = timeoutMs;
    this.#pool = new ConnectionPool({ servers: this.#servers, connections, timeoutMs });
    this.#batcher = new StatementBatcher(timeoutMs / 2, (statement, repeatable) =>
      this.#translated(this.#pool.runForArrays(statement, repeatable)),
    );
    this.#listener = new Listener(this.#servers, CHANNEL);
  }

  async read(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return (await this.#run([{ sql, values }], true))[0]!;
  }

  async write(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return (await this.#runUntilAccepted([{ sql, values }]))[0]!;
  }

  transaction(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#runUntilAccepted(statements);
  }

  runBatched(statement: BatchableStatement, values: readonly Value[]): Promise<RowArray | undefined> {
    return this.#batcher.run(statement, values);
  }

  /** Uses a connection of its own without a statement timeout. */
  async migrate(migrations: readonly Migration[]): Promise<string[]> {
    let client: pg.Client | undefined;
    try {
      client = await this.#servers.connect({ timeoutMs: 0 });
      const applied = await applyMigrations(client, migrations);
      // On Citus, one statement over the rows of many users would go to many shards.
      const citus = await client.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`);
      this.#isCitus = citus.rows.length > 0;
      this.#batcher.batching = !this.#isCitus;
      return applied;
    } catch (error) {
      throw translate(error);
    } finally {
      await client?.end().catch(() => {});
    }
  }

  /**
   * Counts the change, and notifies every node when the transaction commits. A notification does not leave its server,
   * and Citus cannot commit one in two phases: there nodes see the count only.
   */
  notifyStatements(subject: string): readonly Statement[] {
    if (this.#isCitus) return [{ sql: COUNT_CHANGE, values: [] }];
    const notify = `pg_notify('${CHANNEL}', heartbeats.at || ' ' || CAST($1 AS TEXT))`;
    return [{ sql: `${COUNT_CHANGE} RETURNING ${notify} AS notified`, values: [subject] }];
  }

  onExternalChange(listener: (subject?: string) => void): void {
    this.#listener.add(listener);
  }

  async close(): Promise<void> {
    while (this.#batcher.busy) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([this.#pool.close(), this.#listener.close()]);
  }

  /** A deadlock, a serialization failure or a lock timeout undid everything: it may be sent again. */
  async #runUntilAccepted(statements: readonly Statement[]): Promise<Row[][]> {
    const lastStart = performance.now() + this.#timeoutMs / 2;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#run(statements, false);
      } catch (error) {
        if (!(error instanceof StatementRefused)) throw error;
        if (attempt === MAX_ATTEMPTS || performance.now() > lastStart) throw error;
      }
      await delay(Math.random() * attempt * MAX_BACKOFF_MS);
    }
  }

  #run(statements: readonly Statement[], repeatable: boolean): Promise<Row[][]> {
    return this.#translated(this.#pool.run(statements, repeatable));
  }

  async #translated<T>(result: Promise<T>): Promise<T> {
    try {
      return await result;
    } catch (error) {
      throw translate(error);
    }
  }
}
