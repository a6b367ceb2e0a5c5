import type { DatabaseSync } from 'node:sqlite';
import {
  CREATE_MIGRATIONS,
  INSERT_MIGRATION,
  missingMigrations,
  SELECT_MIGRATIONS,
  sqlFor,
} from '../migrations.ts';
import type { Migration, Row } from './driver.ts';

const LOCK_TIMEOUT_MS = 10_000;

/** Applies the missing migrations, each in a transaction of its own, and returns their names. */
export function applyMigrations(db: DatabaseSync, migrations: readonly Migration[]): string[] {
  const applied: string[] = [];
  db.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
  try {
    for (;;) {
      const name = applyNext(db, migrations);
      if (name === undefined) return applied;
      applied.push(name);
    }
  } finally {
    db.exec('PRAGMA busy_timeout = 0');
  }
}

/** Takes the write lock before it looks, so that of processes that start together one applies each migration. */
function applyNext(db: DatabaseSync, migrations: readonly Migration[]): string | undefined {
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(CREATE_MIGRATIONS);
    const [next] = missingMigrations(migrations, db.prepare(SELECT_MIGRATIONS).all() as Row[]);
    if (next) apply(db, next);
    db.exec('COMMIT');
    return next?.name;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function apply(db: DatabaseSync, { name, sql, checksum }: Migration): void {
  try {
    db.exec(sqlFor('sqlite', sql));
    db.prepare(INSERT_MIGRATION.replaceAll('$', '?')).run(name, checksum, Date.now());
  } catch (error) {
    throw new Error(`migration ${name} failed`, { cause: error });
  }
}
