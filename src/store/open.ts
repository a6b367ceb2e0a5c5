import { Applications } from './applications.ts';
import { MemoryCounters } from './counters.ts';
import { Grants } from './grants.ts';
import { allMigrations } from './migrations.ts';
import { type Observe, observedDriver } from './observed-driver.ts';
import { Sessions } from './sessions.ts';
import { SqliteDriver } from './sqlite.ts';
import type { Store } from './store.ts';
import { Users } from './users.ts';

export type StoreOptions = { readonly observe?: Observe | undefined };

/** Opens the database behind a URL (`sqlite:PATH`). The schema is applied by `migrate`. */
export function openStore(url: string, { observe }: StoreOptions = {}): Store {
  const sqlite = new SqliteDriver(url.slice('sqlite:'.length));
  const driver = observe ? observedDriver(sqlite, observe) : sqlite;
  const users = new Users(driver);
  return {
    engine: driver.engine,
    grants: new Grants(driver),
    applications: new Applications(driver),
    users,
    sessions: new Sessions(driver, users),
    counters: new MemoryCounters(),
    migrate: () => driver.migrate(allMigrations()),
    ping: async () => void (await driver.read('SELECT 1 AS one')),
    close: () => driver.close(),
  };
}
