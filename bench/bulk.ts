import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';

export type Cell = string | number | null;
export type Footprint = {
  readonly rows: number;
  /** Rows of tables that do not grow beyond a bound. */
  readonly bounded: number;
  readonly bytes: number;
};

/** One table alone; or all, those with a bound counted apart. */
type Measure = { readonly table?: string; readonly bounded?: readonly string[] };

/** Many rows at once, past the service, and what a database holds. */
export interface Bulk {
  insert(table: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void>;
  ask(sql: string): Promise<Record<string, unknown>[]>;
  footprint(of?: Measure): Promise<Footprint>;
  /** Leaves the database as it would be some time after so many rows came. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export const openBulk = (url: string): Bulk =>
  url.startsWith('sqlite:') ? new SqliteBulk(url.slice('sqlite:'.length)) : new PostgresBulk(url);

class SqliteBulk implements Bulk {
  readonly #db: DatabaseSync;

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 10_000 });
    // What is seeded may be lost with the machine; what the service itself writes is not touched by this.
    this.#db.exec('PRAGMA synchronous = OFF');
  }

  async insert(table: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void> {
    const marks = columns.map(() => '?').join(', ');
    const statement = this.#db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`);
    this.#db.exec('BEGIN IMMEDIATE');
    for (const row of rows) statement.run(...row);
    this.#db.exec('COMMIT');
  }

  async ask(sql: string): Promise<Record<string, unknown>[]> {
    return this.#db.prepare(sql).all() as Record<string, unknown>[];
  }

  async footprint({ table, bounded = [] }: Measure = {}): Promise<Footprint> {
    const names = table
      ? [table]
      : (await this.ask(`SELECT name FROM sqlite_schema WHERE type = 'table'`)).map(({ name }) =>
          String(name),
        );
    const count = async (some: readonly string[]) =>
      sum(
        await Promise.all(
          some.map(async (name) => (await this.ask(`SELECT count(*) AS count FROM ${name}`))[0]?.count),
        ),
      );
    const [size] = await this.ask(
      table
        ? `SELECT sum(pgsize) AS bytes FROM dbstat WHERE name = '${table}'`
        : `SELECT (page_count - freelist_count) * page_size AS bytes
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    );
    return {
      rows: await count(names.filter((name) => !bounded.includes(name))),
      bounded: await count(names.filter((name) => bounded.includes(name))),
      bytes: Number(size?.bytes),
    };
  }

  async settle(): Promise<void> {
    this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  async close(): Promise<void> {
    this.#db.close();
  }
}

class PostgresBulk implements Bulk {
  readonly #pool: Pool;

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: 2 });
    // An idle connection that the end of PostgreSQL cuts is no failure.
    this.#pool.on('error', () => {});
  }

  async insert(table: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void> {
    if (rows.length === 0) return;
    const arrays = columns.map((_, i) => rows.map((row) => row[i]));
    const types = arrays.map((values) => (values.some((v) => typeof v === 'string') ? 'text[]' : 'bigint[]'));
    const parameters = types.map((type, i) => `$${i + 1}::${type}`).join(', ');
    const text = `INSERT INTO ${table} (${columns.join(', ')}) SELECT * FROM unnest(${parameters})`;
    await this.#pool.query({ text, values: arrays });
  }

  async ask(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#pool.query(sql)).rows;
  }

  async footprint({ table, bounded = [] }: Measure = {}): Promise<Footprint> {
    const tables = await this.ask(
      `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    const chosen = tables.filter(({ name }) => table === undefined || name === table);
    const counts = await Promise.all(
      chosen.map(async ({ name }) => ({
        limited: bounded.includes(String(name)),
        count: (await this.ask(`SELECT count(*) FROM ${name}`))[0]?.count,
      })),
    );
    const rows = (limited: boolean) =>
      sum(counts.filter((one) => one.limited === limited).map(({ count }) => count));
    return { rows: rows(false), bounded: rows(true), bytes: sum(chosen.map(({ bytes }) => bytes)) };
  }

  async settle(): Promise<void> {
    await this.ask('VACUUM ANALYZE');
    await this.ask('CHECKPOINT');
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

const sum = (values: readonly unknown[]): number =>
  values.reduce<number>((total, value) => total + Number(value), 0);
