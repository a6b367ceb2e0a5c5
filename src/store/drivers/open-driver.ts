import type { Driver } from './driver.ts';
import { PostgresDriver, type PostgresOptions } from './postgres.ts';
import { SqliteDriver } from './sqlite.ts';

/** Opens the database behind `sqlite:PATH` or `postgres://…`. */
export function openDriver(url: string, options: PostgresOptions = {}): Driver {
  return url.startsWith('sqlite:')
    ? new SqliteDriver(url.slice('sqlite:'.length))
    : new PostgresDriver(url, options);
}
