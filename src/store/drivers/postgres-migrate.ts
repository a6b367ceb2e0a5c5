import type pg from 'pg';
import {
  CREATE_MIGRATIONS,
  INSERT_MIGRATION,
  missingMigrations,
  SELECT_MIGRATIONS,
  sqlFor,
} from '../migrations.ts';
import type { Migration, Row } from './driver.ts';

/** Any number that nothing else uses for an advisory lock on this database. */
const LOCK = 6_010_262_013;

/** Applies the missing migrations, each in a transaction of its own, and returns their names. */
export async function applyMigrations(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<string[]> {
  // Nodes that start together take turns. The lock is released with the connection.
  await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
  await client.query(CREATE_MIGRATIONS);
  const { rows } = await client.query<Row>(SELECT_MIGRATIONS);
  const missing = missingMigrations(migrations, rows);
  for (const { name, sql, checksum } of missing) {
    try {
      await client.query('BEGIN');
      await client.query(sqlFor('postgres', sql));
      await client.query(INSERT_MIGRATION, [name, checksum, Date.now()]);
      await client.query('COMMIT');
    } catch (error) {
      throw new Error(`migration ${name} failed`, { cause: error });
    }
  }
  return missing.map(({ name }) => name);
}
