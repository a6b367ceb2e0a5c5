import { SqlApplications } from './applications.ts';
import { MemoryCounters, SharedCounters } from './counters.ts';
import type { Driver } from './drivers/driver.ts';
import { type Observe, observedDriver } from './drivers/observed-driver.ts';
import { PostgresDriver, type PostgresOptions } from './drivers/postgres.ts';
import { SqliteDriver } from './drivers/sqlite.ts';
import { SqlGrants } from './grants.ts';
import { SqlLeases } from './leases.ts';
import { SqlMailLinks, SqlSignUps } from './mail-links.ts';
import { allMigrations } from './migrations.ts';
import { SqlRequestLog } from './request-log.ts';
import { SqlResourceServers } from './resource-servers.ts';
import { SqlSecurityEvents } from './security-events.ts';
import { SqlSessions } from './sessions.ts';
import { SqlSigningKeys } from './signing-keys.ts';
import type { Store } from './store.ts';
import { SqlUsage } from './usage.ts';
import { SqlUsers } from './users.ts';

export type StoreOptions = PostgresOptions & { readonly observe?: Observe | undefined };

/** Opens the database behind a URL (`sqlite:PATH` or `postgres://…`). The schema is applied by `migrate`. */
export function openStore(url: string, { observe, ...options }: StoreOptions = {}): Store {
  const plain = openDriver(url, options);
  const driver = observe ? observedDriver(plain, observe) : plain;
  const users = new SqlUsers(driver);
  const applications = new SqlApplications(driver);
  return {
    engine: driver.engine,
    grants: new SqlGrants(driver),
    applications,
    users,
    sessions: new SqlSessions(driver, users),
    counters: driver.engine === 'postgres' ? new SharedCounters(driver) : new MemoryCounters(),
    requestLog: new SqlRequestLog(driver),
    usage: new SqlUsage(driver),
    keys: new SqlSigningKeys(driver),
    leases: new SqlLeases(driver),
    signUps: new SqlSignUps(driver),
    mailLinks: new SqlMailLinks(driver),
    securityEvents: new SqlSecurityEvents(driver),
    resourceServers: new SqlResourceServers(driver),
    migrate: () => driver.migrate(allMigrations()),
    ping: async () => void (await driver.read('SELECT 1 AS one')),
    close: async () => {
      await applications.close();
      await driver.close();
    },
  };
}

export function openDriver(url: string, options: PostgresOptions = {}): Driver {
  return url.startsWith('sqlite:')
    ? new SqliteDriver(url.slice('sqlite:'.length))
    : new PostgresDriver(url, options);
}
