import { readdirSync, readFileSync } from 'node:fs';
import type { Migration } from './drivers/driver.ts';

const FOLDER = new URL('./migrations/', import.meta.url);

/** The numbered files beside this one, in order. */
export function allMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{3}-.+\.sql$/.test(file))
    .sort()
    .map((file) => ({ name: file.replace(/\.sql$/, ''), sql: readFileSync(new URL(file, FOLDER), 'utf8') }));
}

/** Makes an engine's own parts of a migration plain SQL; those of other engines stay comments. */
export function sqlFor(engine: string, sql: string): string {
  return sql.replaceAll(new RegExp(`/\\*${engine}\\s(.*?)\\*/`, 'gs'), '$1');
}
