import { Applications } from './applications.ts';
import { MemoryCounters, SharedCounters } from './counters.ts';
import type { Driver } from './driver.ts';
import { Grants } from './grants.ts';
import { SealingKeys } from './keys.ts';
import { Leases } from './leases.ts';
import { allMigrations } from './migrations.ts';
import { PostgresDriver, type PostgresOptions } from './postgres.ts';
import { Sessions } from './sessions.ts';
import { SqliteDriver } from './sqlite.ts';
import type { Store } from './store.ts';
import { Users } from './users.ts';

/** Opens the database behind a URL (`sqlite:PATH` or `postgres://…`). The schema is applied by `migrate`. */
export function openStore(url: string, options: PostgresOptions = {}): Store {
  const driver = openDriver(url, options);
  const users = new Users(driver);
  return {
    engine: driver.engine,
    grants: new Grants(driver),
    applications: new Applications(driver),
    users,
    sessions: new Sessions(driver, users),
    counters: driver.engine === 'postgres' ? new SharedCounters(driver) : new MemoryCounters(),
    keys: new SealingKeys(driver),
    leases: new Leases(driver),
    migrate: () => driver.migrate(allMigrations()),
    ping: async () => void (await driver.read('SELECT 1 AS one')),
    close: () => driver.close(),
  };
}

export function openDriver(url: string, options: PostgresOptions = {}): Driver {
  return url.startsWith('sqlite:')
    ? new SqliteDriver(url.slice('sqlite:'.length))
    : new PostgresDriver(url, options);
}
