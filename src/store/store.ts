import { SqlApplications } from './applications.ts';
import { type CounterStore, MemoryCounters, SharedCounters } from './counters.ts';
import { type Observe, observedDriver } from './drivers/observed-driver.ts';
import { openDriver } from './drivers/open-driver.ts';
import type { PostgresOptions } from './drivers/postgres.ts';
import { SqlGrants } from './grants.ts';
import { SqlIncidents } from './incidents.ts';
import { SqlLeases } from './leases.ts';
import { SqlMailLinks } from './mail-links.ts';
import { allMigrations } from './migrations.ts';
import { SqlOwnedApplications } from './owned-applications.ts';
import { DatabaseClock, LastRunClock, type ReferenceClock } from './reference-clock.ts';
import { SqlRequestLog } from './request-log.ts';
import { SqlResourceServers } from './resource-servers.ts';
import { SqlRetiredSecrets } from './retired-secrets.ts';
import { SqlRevokedAccessTokens } from './revoked-access-tokens.ts';
import { SqlSecretFingerprint } from './secret-fingerprint.ts';
import { SqlSecurityEvents } from './security-events.ts';
import { SqlSessions } from './sessions.ts';
import { SqlSignUps } from './sign-ups.ts';
import { SqlSigningKeys } from './signing-keys.ts';
import { SqlUsage } from './usage.ts';
import { SqlUsers } from './users.ts';

/**
 * The store as the rest of Postern sees it: whole transitions, each one conditional statement on one row,
 * with outcomes as values. A throw means that the database failed.
 */
export type Store = {
  readonly engine: 'sqlite' | 'postgres';
  readonly grants: SqlGrants;
  readonly revokedAccessTokens: SqlRevokedAccessTokens;
  readonly applications: SqlApplications;
  /** The applications of one user, as that user may see and change them. */
  ownedApplications(ownerId: string): SqlOwnedApplications;
  readonly retiredSecrets: SqlRetiredSecrets;
  readonly resourceServers: SqlResourceServers;
  readonly users: SqlUsers;
  readonly sessions: SqlSessions;
  readonly signUps: SqlSignUps;
  readonly mailLinks: SqlMailLinks;
  readonly securityEvents: SqlSecurityEvents;
  readonly requestLog: SqlRequestLog;
  readonly incidents: SqlIncidents;
  readonly usage: SqlUsage;
  readonly counters: CounterStore;
  readonly signingKeys: SqlSigningKeys;
  readonly secretFingerprint: SqlSecretFingerprint;
  readonly leases: SqlLeases;
  readonly clock: ReferenceClock;
  /** Applies the missing migrations and returns their names. */
  migrate(): Promise<string[]>;
  /** Resolves when the database accepts writes. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
};

export type StoreOptions = PostgresOptions & {
  readonly observe?: Observe | undefined;
  /** Live grants of one user to one application; the default is far more than any user makes. */
  readonly maxGrants?: number;
};

/** Opens the database behind `sqlite:PATH` or `postgres://…`. It may lack its schema until `migrate` has run. */
export function openStore(url: string, { observe, maxGrants, ...options }: StoreOptions = {}): Store {
  const plain = openDriver(url, options);
  const driver = observe ? observedDriver(plain, observe) : plain;
  const users = new SqlUsers(driver);
  const applications = new SqlApplications(driver);
  const grants = new SqlGrants(driver, maxGrants);
  return {
    engine: driver.engine,
    grants,
    revokedAccessTokens: new SqlRevokedAccessTokens(driver),
    applications,
    ownedApplications: (ownerId) => new SqlOwnedApplications(driver, applications, ownerId),
    retiredSecrets: new SqlRetiredSecrets(driver),
    resourceServers: new SqlResourceServers(driver),
    users,
    sessions: new SqlSessions(driver, users),
    signUps: new SqlSignUps(driver),
    mailLinks: new SqlMailLinks(driver),
    securityEvents: new SqlSecurityEvents(driver),
    requestLog: new SqlRequestLog(driver),
    incidents: new SqlIncidents(driver),
    usage: new SqlUsage(driver),
    // With SQLite one process serves, so it may count in memory.
    counters: driver.engine === 'postgres' ? new SharedCounters(driver) : new MemoryCounters(),
    signingKeys: new SqlSigningKeys(driver),
    secretFingerprint: new SqlSecretFingerprint(driver),
    leases: new SqlLeases(driver),
    clock: driver.engine === 'postgres' ? new DatabaseClock(driver) : new LastRunClock(driver, grants),
    migrate: () => driver.migrate(allMigrations()),
    checkWritable: async () => void (await driver.write(driver.writeProbe)),
    close: async () => {
      await applications.close();
      await driver.close();
    },
  };
}
