import { existsSync } from 'node:fs';
import { type Config, isPostgres } from '../config.ts';
import { loadSecret, secretExists } from '../keys/secret-file.ts';
import { matchesFingerprint } from '../keys/secret-fingerprint.ts';
import type { Driver, Migration, Row } from '../store/drivers/driver.ts';
import { openDriver } from '../store/drivers/open-driver.ts';
import { SqlGrants } from '../store/grants.ts';
import { allMigrations, missingMigrations, SchemaMismatch, SELECT_MIGRATIONS } from '../store/migrations.ts';
import { LastRunClock } from '../store/reference-clock.ts';
import { SqlSecretFingerprint } from '../store/secret-fingerprint.ts';
import { explainDatabaseError, sqlitePath } from './database.ts';
import { type Finding, fault, ok, warning } from './doctor-check.ts';

const MIN_POSTGRES_VERSION = 14;
const TIMEOUT_MS = 3_000;
/** Easily kept by a time service. Nodes tolerate more (reference-clock.ts). */
const MAX_CLOCK_SKEW_MS = 1_000;

/** Read-only: not even the schema is updated. */
export async function checkDatabase(config: Config): Promise<Finding[]> {
  const path = sqlitePath(config);
  if (path && !existsSync(path)) return [ok('There is no database yet: the first start creates it.')];
  let driver: Driver | undefined;
  try {
    driver = openDriver(config.databaseUrl, { connections: 1, timeoutMs: TIMEOUT_MS });
    const engine = isPostgres(config.databaseUrl) ? await postgres(driver, config) : await sqlite(driver);
    const { findings, current } = await schema(driver);
    if (!current) return [...engine, ...findings];
    return [
      ...engine,
      ...findings,
      ...(path ? [await lastRun(driver)] : []),
      ...(await secret(driver, config)),
    ];
  } catch (error) {
    const { message } = explainDatabaseError(error, config) as Error;
    return [fault(message, 'Nothing works without the database: fix this first.')];
  } finally {
    await driver?.close();
  }
}

const readRow = async (driver: Driver, sql: string): Promise<Row> => (await driver.read(sql))[0] ?? {};

async function sqlite(driver: Driver): Promise<Finding[]> {
  const { version } = await readRow(driver, 'SELECT sqlite_version() AS version');
  return [ok(`The database responds: SQLite ${version}.`)];
}

async function postgres(driver: Driver, config: Config): Promise<Finding[]> {
  const before = Date.now();
  const row = await readRow(
    driver,
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
      (extract(epoch from clock_timestamp()) * 1000)::bigint AS now, pg_is_in_recovery() AS standby,
      current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync,
      current_setting('max_connections')::int AS connections, current_setting('server_encoding') AS encoding`,
  );
  const findings = [ok(`The database responds: PostgreSQL ${row.version}.`)];
  if (Number(row.number) < MIN_POSTGRES_VERSION * 10_000)
    findings.push(fault('This PostgreSQL is too old.', `Upgrade it to ${MIN_POSTGRES_VERSION} or later.`));
  if (row.standby === 1)
    findings.push(fault('This server is a standby and accepts no writes.', 'Connect to the primary.'));
  if (row.encoding !== 'UTF8')
    findings.push(fault(`The database is encoded in ${row.encoding}.`, 'Create it with ENCODING UTF8.'));
  return [
    ...findings,
    ...durability(row),
    ...connectionLimit(row, config),
    clockSkew(before, Number(row.now), Date.now()),
  ];
}

function durability(row: Row): Finding[] {
  const advice =
    'Turn it on: if the server crashes, tokens that were already issued are lost, and their users must reconnect.';
  const findings: Finding[] = [];
  if (row.synchronous_commit === 'off') findings.push(fault('synchronous_commit is off.', advice));
  if (row.fsync === 'off') findings.push(fault('fsync is off.', advice));
  return findings;
}

function connectionLimit(row: Row, config: Config): Finding[] {
  const [max, perProcess] = [Number(row.connections), config.databaseConnections + 1];
  if (perProcess * 2 <= max)
    return [ok(`max_connections is ${max}: enough for ${Math.floor(max / perProcess)} processes.`)];
  return [
    warning(
      `A process opens up to ${perProcess} connections, and max_connections is ${max}.`,
      'Raise max_connections, or lower POSTERN_DATABASE_CONNECTIONS.',
    ),
  ];
}

function clockSkew(before: number, databaseTime: number, after: number): Finding {
  const skewMs = databaseTime < before ? before - databaseTime : Math.max(0, databaseTime - after);
  if (skewMs <= MAX_CLOCK_SKEW_MS) return ok('The clocks of this machine and the database agree.');
  return fault(
    `The clocks of this machine and the database differ by ${(skewMs / 1000).toFixed(1)} seconds.`,
    'Run a time service (chrony, systemd-timesyncd) on both.',
  );
}

/** With SQLite there is no other clock to compare with. */
async function lastRun(driver: Driver): Promise<Finding> {
  const { trusted, aheadMs } = await new LastRunClock(driver, new SqlGrants(driver)).compare(Date.now);
  if (trusted) return ok('The clock goes on from when the service last ran.');
  const days = Math.abs(aheadMs / (24 * 3600_000)).toFixed(aheadMs < 0 ? 1 : 0);
  return fault(
    aheadMs > 0
      ? `The service last ran ${days} days ago, by this clock: it deletes nothing and /health is 503.`
      : `The service last ran ${days} days from now, by this clock: it deletes nothing and /health is 503.`,
    'If the clock is wrong, correct it. If it is right: bin/postern confirm-clock',
  );
}

async function schema(driver: Driver): Promise<{ findings: Finding[]; current: boolean }> {
  const known = allMigrations();
  // A new database has no such table yet.
  const rows = await driver.read(SELECT_MIGRATIONS).catch(() => []);
  let missing: readonly Migration[];
  try {
    missing = missingMigrations(known, rows);
  } catch (error) {
    if (!(error instanceof SchemaMismatch)) throw error;
    return { findings: [fault(error.problem, error.fix)], current: false };
  }
  const names = (migrations: readonly { readonly name?: unknown }[]) =>
    migrations.map(({ name }) => name).join(', ');
  const unknown = rows.filter((row) => !known.some(({ name }) => name === row.name));
  const findings: Finding[] = [];
  if (missing.length > 0)
    findings.push(
      warning(
        `The schema lacks ${names(missing)}.`,
        'The next start applies it. To do it now: bin/postern migrate',
      ),
    );
  if (unknown.length > 0)
    findings.push(
      warning(
        `The schema has ${names(unknown)}, from a newer Postern.`,
        'Run the newer version on every node.',
      ),
    );
  return {
    findings: findings.length > 0 ? findings : [ok('The schema is up to date.')],
    current: missing.length === 0,
  };
}

async function secret(driver: Driver, config: Config): Promise<Finding[]> {
  const fingerprint = await new SqlSecretFingerprint(driver).find();
  if (!secretExists(config) || fingerprint === undefined) return [];
  if (await matchesFingerprint(loadSecret(config), fingerprint))
    return [ok('The secret matches the database.')];
  return [
    fault(
      'The database belongs to another secret: all tokens in use would be refused.',
      'Give every node the same secret. If you changed it on purpose: bin/postern keys adopt-secret',
    ),
  ];
}
