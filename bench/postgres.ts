import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openStore, type Store } from '../src/store/store.ts';
import { query } from '../test/support/postgres-database.ts';
import { TestPostgres } from '../test/support/postgres-server.ts';

/**
 * Compares refresh rotation on PostgreSQL with `pgbench` on the same server, without HTTP:
 * node bench/postgres.ts [connections] [seconds] [grants]. Starts its own PostgreSQL, durable as in production.
 */
const [connections = 8, seconds = 5, grants = 1_000_000] = process.argv.slice(2).map(Number);
/** Enough that no two callers use the same grant at once. */
const GRANTS_IN_USE = 20_000;
const CALLERS = connections * 4;
const ROUNDS = 3;

async function main(): Promise<void> {
  const server = await TestPostgres.start(['fsync=on', 'shared_buffers=512MB', 'max_wal_size=4GB']);
  try {
    const url = await server.createDatabase();
    const store = openStore(url, { connections });
    await store.migrate();
    await load(url, 1, GRANTS_IN_USE);
    await compare(url, store);
    await growth(url, store);
    await fill(url, store);
    await bytes(url);
    await store.close();
  } finally {
    await server.stop();
  }
}

async function load(url: string, first: number, last: number): Promise<void> {
  await query(
    url,
    `INSERT INTO users (id, email, name, password_hash, created_at, updated_at)
      SELECT lpad(i::text, 22, 'u'), i || '@example.com', 'A user of usual length', repeat('h', 97), 1, 1
      FROM generate_series(${first}, ${last}) i;
    INSERT INTO user_emails SELECT i || '@example.com', lpad(i::text, 22, 'u') FROM generate_series(${first}, ${last}) i;
    INSERT INTO grants (user_id, id, client_id, scope, generation, expires_at, created_at, last_used_at)
      SELECT lpad(i::text, 22, 'u'), lpad(i::text, 22, 'g'), 'app_0123456789abcdef01234567', 3, 1, 9e12, 1, 1
      FROM generate_series(${first}, ${last}) i`,
  );
  await query(url, 'VACUUM ANALYZE');
}

/** Alternates between the two, so that noise affects both alike. */
async function compare(url: string, store: Store): Promise<void> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push(await pgbench(url));
    ours.push(await rate(seconds, rotateOne(store)));
  }
  const [a, b] = [median(ours), median(theirs)];
  report('rotations per second', a);
  report(`pgbench, one-row UPDATE … RETURNING, ${connections} connections`, b);
  if (b > 0) console.log(`  ratio ${(a / b).toFixed(2)}`);
}

async function growth(url: string, store: Store): Promise<void> {
  const before = await size(url);
  await query(url, 'SELECT pg_stat_reset()');
  const from = performance.now();
  await rotations(store, 100_000);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const after = await size(url);
  const [stat] = await query(
    url,
    `SELECT n_tup_upd::int AS updates, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'grants'`,
  );
  const hot = (100 * Number(stat!.hot)) / Number(stat!.updates);
  console.log(`100,000 rotations in ${((performance.now() - from) / 1000).toFixed(1)} s:`);
  console.log(`  rows ${before.rows} → ${after.rows}; table ${before.mb} MB → ${after.mb} MB`);
  console.log(`  ${stat!.updates} updates, ${hot.toFixed(1)} % of them HOT`);
}

async function fill(url: string, store: Store): Promise<void> {
  const empty = [await rate(seconds, rotateOne(store)), await rate(seconds, readOne(store))];
  if (grants > GRANTS_IN_USE) await load(url, GRANTS_IN_USE + 1, grants);
  const full = [await rate(seconds, rotateOne(store)), await rate(seconds, readOne(store))];
  for (const [index, name] of ['rotation', 'userinfo read'].entries()) {
    const [a, b] = [empty[index]!, full[index]!];
    console.log(
      `${name}: ${Math.round(a)} per second with ${GRANTS_IN_USE} grants, ${Math.round(b)} with ${grants} (${((100 * b) / a - 100).toFixed(0)} %)`,
    );
  }
}

async function bytes(url: string): Promise<void> {
  const rows = await query(
    url,
    `SELECT relname AS name, round(pg_total_relation_size(relid)::numeric / n_live_tup) AS bytes, n_live_tup AS rows
      FROM pg_stat_user_tables WHERE n_live_tup > 1000`,
  );
  for (const { name, bytes: each, rows: count } of rows)
    console.log(`${name}: ${each} bytes per row including indexes (${count} rows)`);
}

// ---- one operation --------------------------------------------------------------------------

const generations = new Int32Array(GRANTS_IN_USE).fill(1);
let nextIndex = 0;
const now = Date.now();

function grantRef(index: number) {
  const number = String(index + 1);
  return {
    userId: number.padStart(22, 'u'),
    grantId: number.padStart(22, 'g'),
    generation: generations[index]!,
  };
}

const rotateOne = (store: Store) => async (): Promise<void> => {
  const index = nextIndex++ % GRANTS_IN_USE;
  const result = await store.grants.rotate({
    ref: grantRef(index),
    clientId: 'app_0123456789abcdef01234567',
    scope: undefined,
    now,
    expiresAt: now + 2_592_000_000,
    codesExpiredBefore: now - 300_000,
  });
  if (result.outcome !== 'rotated') throw new Error(JSON.stringify(result));
  generations[index]!++;
};

const readOne = (store: Store) => async (): Promise<void> => {
  const result = await store.grants.readAccess(grantRef(nextIndex++ % GRANTS_IN_USE));
  if (result.outcome !== 'live') throw new Error('not live');
};

// ---- measuring ------------------------------------------------------------------------------

/** Operations per second of CALLERS concurrent callers, after one second of warm-up. */
async function rate(forSeconds: number, operation: () => Promise<void>): Promise<number> {
  let done = 0;
  let stopped = false;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!stopped) {
      await operation();
      done++;
    }
  });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const [from, before] = [performance.now(), done];
  await new Promise((resolve) => setTimeout(resolve, forSeconds * 1000));
  const measured = ((done - before) * 1000) / (performance.now() - from);
  stopped = true;
  await Promise.all(callers);
  return measured;
}

async function rotations(store: Store, count: number): Promise<void> {
  const rotate = rotateOne(store);
  let left = count;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (left-- > 0) await rotate();
    }),
  );
}

/** Transactions per second, or 0 if pgbench is not installed. */
async function pgbench(url: string): Promise<number> {
  await query(
    url,
    `CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, n INTEGER) WITH (fillfactor = 80);
    INSERT INTO bench SELECT i, 0 FROM generate_series(1, ${GRANTS_IN_USE}) i ON CONFLICT DO NOTHING`,
  );
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  const script = join(folder, 'update.sql');
  writeFileSync(
    script,
    `\\set id random(1, ${GRANTS_IN_USE})\nUPDATE bench SET n = n + 1 WHERE id = :id RETURNING n;\n`,
  );
  try {
    const args = [
      '-n',
      '-M',
      'prepared',
      '-f',
      script,
      '-c',
      String(connections),
      '-j',
      '2',
      '-T',
      String(seconds),
      url,
    ];
    const { stdout } = await promisify(execFile)('pgbench', args);
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1] ?? 0);
  } catch {
    console.log('  (pgbench is not installed)');
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function size(url: string): Promise<{ rows: number; mb: string }> {
  const [row] = await query(
    url,
    `SELECT count(*)::int AS rows, pg_relation_size('grants')::int AS bytes FROM grants`,
  );
  return { rows: Number(row!.rows), mb: (Number(row!.bytes) / 1e6).toFixed(1) };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

function report(name: string, value: number): void {
  console.log(`${name}: ${Math.round(value).toLocaleString('en')}`);
}

await main();
