import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Migration, Row } from './drivers/driver.ts';

const FOLDER = new URL('./migrations/', import.meta.url);

/** The numbered files in migrations/, in order. */
export function allMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{3}-.+\.sql$/.test(file))
    .sort()
    .map((file) => migration(file.replace(/\.sql$/, ''), readFileSync(new URL(file, FOLDER), 'utf8')));
}

const migration = (name: string, sql: string): Migration => ({
  name,
  sql,
  checksum: hash('sha256', sql),
});

/** Uncomments the parts of a migration for this engine; those for other engines stay comments. */
export function sqlFor(engine: string, sql: string): string {
  return sql.replaceAll(new RegExp(`/\\*${engine}\\s(.*?)\\*/`, 'gs'), '$1');
}

export const CREATE_MIGRATIONS = `CREATE TABLE IF NOT EXISTS migrations
  (name TEXT NOT NULL PRIMARY KEY, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)`;

/** With `*`, because the table of a pre-release lacks a column. */
export const SELECT_MIGRATIONS = 'SELECT * FROM migrations';

export const INSERT_MIGRATION = 'INSERT INTO migrations (name, checksum, applied_at) VALUES ($1, $2, $3)';

/** The schema of this database is not one that this version can work with or upgrade. Nothing was changed. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
  readonly problem: string;
  readonly fix: string;

  constructor(problem: string, fix: string) {
    super(`${problem} ${fix}`);
    this.problem = problem;
    this.fix = fix;
  }
}

/**
 * The migrations that are not applied yet; `rows` are those of SELECT_MIGRATIONS. Names that this version does not
 * know are fine: a newer node may have upgraded the schema while this one still runs.
 */
export function missingMigrations(migrations: readonly Migration[], rows: readonly Row[]): Migration[] {
  if (rows.some((row) => row.checksum === undefined))
    throw new SchemaMismatch(
      'This database was created by a pre-release of Postern 0.1 and cannot be upgraded.',
      'Use a new, empty database and create users and applications again, or run the version that created it.',
    );
  const checksums = new Map(rows.map((row) => [row.name, row.checksum]));
  for (const { name, checksum } of migrations) {
    const applied = checksums.get(name);
    if (applied !== undefined && applied !== checksum)
      throw new SchemaMismatch(
        `Migration ${name} is not the one that was applied to this database.`,
        `Install the released files of this version again. A changed ${name}.sql has no effect on a database that ` +
          'has it: make changes in a new migration.',
      );
  }
  return migrations.filter(({ name }) => !checksums.has(name));
}
