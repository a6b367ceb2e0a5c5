import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type pg from 'pg';
import type { Row, Value } from './drivers/driver.ts';
import { PostgresServers } from './drivers/postgres-servers.ts';

const BATCH_SIZE = 2_000;
/** State of one running database, not data. */
const NOT_COPIED = new Set(['migrations', 'leases', 'heartbeats', 'rate_windows']);

export type TransferredTable = { readonly table: string; readonly rows: number; readonly checksum: string };
type TransferProgress = (step: 'copy' | 'verify', table: string, rows: number, totalRows: number) => void;

/** The target is not empty or has another schema than the source. Nothing was changed. */
export class TransferRefused extends Error {
  override readonly name = 'TransferRefused';
}

/**
 * Copies all data from a SQLite file to an empty PostgreSQL database, both with the current schema, in one
 * transaction that is verified before it commits. The source is locked meanwhile, so that no token is rotated in a
 * database that is about to be abandoned.
 */
export async function transfer(
  sqlitePath: string,
  url: string,
  progress: TransferProgress,
): Promise<TransferredTable[]> {
  const source = new DatabaseSync(sqlitePath, { timeout: 5_000 });
  let target: pg.Client | undefined;
  try {
    source.exec('BEGIN IMMEDIATE');
    target = await new PostgresServers(url).connect({ timeoutMs: 0 });
    await target.query('BEGIN');
    const tables = await matchTables(source, target);
    await refuseUnlessEmpty(target, tables);
    const copied: TransferredTable[] = [];
    for (const table of tables) copied.push(await copyTable(source, target, table, progress));
    for (const [index, table] of tables.entries()) await verifyTable(target, table, copied[index]!, progress);
    await target.query('COMMIT');
    await target.query('ANALYZE');
    return copied;
  } finally {
    // A transaction that did not commit is undone with its connection.
    await target?.end().catch(() => {});
    source.close();
  }
}

type Table = { readonly name: string; readonly columns: readonly Column[] };
type Column = { readonly name: string; readonly type: string };

async function matchTables(source: DatabaseSync, target: pg.Client): Promise<Table[]> {
  const { rows } = await target.query<{ table: string; column: string; type: string }>(
    `SELECT table_name AS "table", column_name AS "column", data_type AS "type" FROM information_schema.columns
      WHERE table_schema = current_schema() ORDER BY table_name, column_name`,
  );
  const inTarget = Map.groupBy(rows, ({ table }) => table);
  const names = source
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !NOT_COPIED.has(name));
  return names.map((name) => {
    const columns = (inTarget.get(name) ?? []).map(({ column, type }) => ({ name: column, type }));
    const inSource = source
      .prepare('SELECT name FROM pragma_table_info(?) ORDER BY name')
      .all(name)
      .map((row) => String(row.name));
    if (columns.map((column) => column.name).join() === inSource.join()) return { name, columns };
    throw new TransferRefused(`the table ${name} is not the same in both databases`);
  });
}

/** Locks each table too: a service that was started too early must not write meanwhile. */
async function refuseUnlessEmpty(target: pg.Client, tables: readonly Table[]): Promise<void> {
  for (const { name } of tables) {
    await target.query(`LOCK TABLE ${name} IN EXCLUSIVE MODE`);
    const { rows } = await target.query(`SELECT 1 FROM ${name} LIMIT 1`);
    if (rows.length > 0) throw new TransferRefused(`the table ${name} of the target is not empty`);
  }
}

async function copyTable(
  source: DatabaseSync,
  target: pg.Client,
  { name, columns }: Table,
  progress: TransferProgress,
): Promise<TransferredTable> {
  const list = columns.map((column) => column.name).join(', ');
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ');
  const insert = {
    name: `copy_${name}`,
    text: `INSERT INTO ${name} (${list}) SELECT * FROM unnest(${arrays})`,
  };
  const total = Number(source.prepare(`SELECT count(*) AS rows FROM ${name}`).get()!.rows);
  const checksum = new Checksum(columns);
  let rows = 0;
  for (const batch of batches(source.prepare(`SELECT ${list} FROM ${name}`).iterate() as Iterable<Row>)) {
    for (const row of batch) checksum.add(row);
    const values = columns.map((column) => batch.map((row) => row[column.name]));
    await target.query({ ...insert, values });
    rows += batch.length;
    progress('copy', name, rows, total);
  }
  return { table: name, rows, checksum: checksum.text() };
}

async function verifyTable(
  target: pg.Client,
  { name, columns }: Table,
  copied: TransferredTable,
  progress: TransferProgress,
): Promise<void> {
  const list = columns.map((column) => column.name).join(', ');
  await target.query(`DECLARE verify NO SCROLL CURSOR FOR SELECT ${list} FROM ${name}`);
  const checksum = new Checksum(columns);
  let rows = 0;
  for (;;) {
    const batch = await target.query<Row>(`FETCH ${BATCH_SIZE} FROM verify`);
    if (batch.rows.length === 0) break;
    for (const row of batch.rows) checksum.add(row);
    rows += batch.rows.length;
    progress('verify', name, rows, copied.rows);
  }
  await target.query('CLOSE verify');
  if (rows !== copied.rows || checksum.text() !== copied.checksum)
    throw new Error(`the copy of the table ${name} differs from the source; nothing was kept`);
}

function* batches(rows: Iterable<Row>): Generator<Row[]> {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length === BATCH_SIZE) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** Independent of the order of the rows: the exclusive or of their SHA-256. No table has two equal rows. */
class Checksum {
  readonly #columns: readonly Column[];
  readonly #sum = Buffer.alloc(32);

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  add(row: Row): void {
    const values = this.#columns.map(({ name }): Value => row[name]!);
    const digest = createHash('sha256').update(JSON.stringify(values)).digest();
    for (let i = 0; i < digest.length; i++) this.#sum[i]! ^= digest[i]!;
  }

  text(): string {
    return this.#sum.toString('hex').slice(0, 16);
  }
}
