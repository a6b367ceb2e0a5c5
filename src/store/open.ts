import { Applications } from './applications.ts';
import { MemoryCounters } from './counters.ts';
import { Grants } from './grants.ts';
import { MailLinks, SignUps } from './mail-links.ts';
import { allMigrations } from './migrations.ts';
import { SecurityEvents } from './security-events.ts';
import { Sessions } from './sessions.ts';
import { SqliteDriver } from './sqlite.ts';
import type { Store } from './store.ts';
import { Users } from './users.ts';

/** Opens the database behind a URL (`sqlite:PATH`). The schema is applied by `migrate`. */
export function openStore(url: string): Store {
  const driver = new SqliteDriver(url.slice('sqlite:'.length));
  const users = new Users(driver);
  const applications = new Applications(driver);
  return {
    engine: driver.engine,
    grants: new Grants(driver),
    applications,
    users,
    sessions: new Sessions(driver, users),
    signUps: new SignUps(driver),
    mailLinks: new MailLinks(driver),
    securityEvents: new SecurityEvents(driver),
    counters: new MemoryCounters(),
    migrate: () => driver.migrate(allMigrations()),
    ping: async () => void (await driver.read('SELECT 1 AS one')),
    close: async () => {
      await applications.close();
      await driver.close();
    },
  };
}
