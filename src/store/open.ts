import { Applications } from './applications.ts';
import { MemoryCounters } from './counters.ts';
import { Grants } from './grants.ts';
import { allMigrations } from './migrations.ts';
import { ResourceServers } from './resource-servers.ts';
import { Sessions } from './sessions.ts';
import { SqliteDriver } from './sqlite.ts';
import type { Store } from './store.ts';
import { Users } from './users.ts';

/** Opens the database behind a URL (`sqlite:PATH`). The schema is applied by `migrate`. */
export function openStore(url: string): Store {
  const driver = new SqliteDriver(url.slice('sqlite:'.length));
  const users = new Users(driver);
  return {
    engine: driver.engine,
    grants: new Grants(driver),
    applications: new Applications(driver),
    users,
    sessions: new Sessions(driver, users),
    counters: new MemoryCounters(),
    resourceServers: new ResourceServers(driver),
    migrate: () => driver.migrate(allMigrations()),
    ping: async () => void (await driver.read('SELECT 1 AS one')),
    close: () => driver.close(),
  };
}
