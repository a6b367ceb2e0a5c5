import { Applications } from './applications.ts';
import { MemoryCounters, SharedCounters } from './counters.ts';
import type { Driver } from './driver.ts';
import { Grants } from './grants.ts';
import { SealingKeys } from './keys.ts';
import { Leases } from './leases.ts';
import { MailLinks, SignUps } from './mail-links.ts';
import { allMigrations } from './migrations.ts';
import { type Observe, observedDriver } from './observed-driver.ts';
import { PostgresDriver, type PostgresOptions } from './postgres.ts';
import { RequestLogInSql } from './request-log.ts';
import { ResourceServers } from './resource-servers.ts';
import { SecurityEvents } from './security-events.ts';
import { Sessions } from './sessions.ts';
import { SqliteDriver } from './sqlite.ts';
import type { Store } from './store.ts';
import { Usage } from './usage.ts';
import { Users } from './users.ts';

export type StoreOptions = PostgresOptions & { readonly observe?: Observe | undefined };

/** Opens the database behind a URL (`sqlite:PATH` or `postgres://…`). The schema is applied by `migrate`. */
export function openStore(url: string, { observe, ...options }: StoreOptions = {}): Store {
  const plain = openDriver(url, options);
  const driver = observe ? observedDriver(plain, observe) : plain;
  const users = new Users(driver);
  const applications = new Applications(driver);
  return {
    engine: driver.engine,
    grants: new Grants(driver),
    applications,
    users,
    sessions: new Sessions(driver, users),
    counters: driver.engine === 'postgres' ? new SharedCounters(driver) : new MemoryCounters(),
    requestLog: new RequestLogInSql(driver),
    usage: new Usage(driver),
    keys: new SealingKeys(driver),
    leases: new Leases(driver),
    signUps: new SignUps(driver),
    mailLinks: new MailLinks(driver),
    securityEvents: new SecurityEvents(driver),
    resourceServers: new ResourceServers(driver),
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
