import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';

export type Cell = string | number | null;
export type Footprint = {
  readonly rows: number;
  /** Rows in tables with a fixed maximum size. */
  readonly bounded: number;
  readonly bytes: number;
};

/** One table; or all tables, with the bounded ones counted separately. */
type Measure = { readonly table?: string; readonly bounded?: readonly string[] };

/** Direct database access for seeding and measuring, bypassing the service. */
export interface Bulk {
  insert(table: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void>;
  query(sql: string): Promise<Record<string, unknown>[]>;
  footprint(of?: Measure): Promise<Footprint>;
  /** Checkpoints (and vacuums), so that this work does not fall into the measurement. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export const openBulk = (url: string): Bulk =>
  url.startsWith('sqlite:') ? new SqliteBulk(url.slice('sqlite:'.length)) : new PostgresBulk(url);

class SqliteBulk implements Bulk {
  readonly #db: DatabaseSync;

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 10_000 });
    // Affects this connection only: seeded rows need not survive a crash. The service keeps synchronous = FULL.
    this.#db.exec('PRAGMA synchronous = OFF');
  }

  async insert(table: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void> {
    const placeholders = columns.map(() => '?').join(', ');
    const statement = this.#db.prepare(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${placeholders})`,
    );
    this.#db.exec('BEGIN IMMEDIATE');
    for (const row of rows) statement.run(...row);
    this.#db.exec('COMMIT');
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return this.#db.prepare(sql).all() as Record<string, unknown>[];
  }

  async footprint({ table, bounded = [] }: Measure = {}): Promise<Footprint> {
    const names = table
      ? [table]
      : (await this.query(`SELECT name FROM sqlite_schema WHERE type = 'table'`)).map(({ name }) =>
          String(name),
        );
    const countRows = async (tables: readonly string[]) =>
      sum(
        await Promise.all(
          tables.map(async (name) => (await this.query(`SELECT count(*) AS count FROM ${name}`))[0]?.count),
        ),
      );
    const [size] = await this.query(
      table
        ? `SELECT sum(pgsize) AS bytes FROM dbstat WHERE name = '${table}'`
        : `SELECT (page_count - freelist_count) * page_size AS bytes
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    );
    return {
      rows: await countRows(names.filter((name) => !bounded.includes(name))),
      bounded: await countRows(names.filter((name) => bounded.includes(name))),
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
    // PostgreSQL closes idle connections when it stops; that is not a failure.
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

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#pool.query(sql)).rows;
  }

  async footprint({ table, bounded = [] }: Measure = {}): Promise<Footprint> {
    const tables = await this.query(
      `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    const chosen = tables.filter(({ name }) => table === undefined || name === table);
    const counts = await Promise.all(
      chosen.map(async ({ name }) => ({
        isBounded: bounded.includes(String(name)),
        count: (await this.query(`SELECT count(*) FROM ${name}`))[0]?.count,
      })),
    );
    const rows = (isBounded: boolean) =>
      sum(counts.filter((table) => table.isBounded === isBounded).map(({ count }) => count));
    return { rows: rows(false), bounded: rows(true), bytes: sum(chosen.map(({ bytes }) => bytes)) };
  }

  async settle(): Promise<void> {
    await this.query('VACUUM ANALYZE');
    await this.query('CHECKPOINT');
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

const sum = (values: readonly unknown[]): number =>
  values.reduce<number>((total, value) => total + Number(value), 0);
