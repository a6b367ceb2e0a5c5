import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { TestPostgres } from '../support/postgres-server.ts';
import { Service } from '../support/service.ts';
import { type Event, violations } from './history.ts';
import { Load } from './load.ts';
import { BreakingProxy } from './proxy.ts';

/** A statement may take five seconds, and a request waits for up to two statements. */
const MAX_RESPONSE_MS = 12_000;
const SETTINGS = { POSTERN_RATE_LIMIT: '1000000000', POSTERN_DATABASE_CONNECTIONS: '4' };

let server: TestPostgres;
before(async () => {
  // Durable, as in production: acknowledged writes must survive the kill.
  server = await TestPostgres.start(['fsync=on']);
});
after(() => server.stop());

const FAILURES: readonly string[] = ['unknown', 'unchanged'] satisfies Event['outcome'][];

type Scene = { readonly proxy: BreakingProxy; readonly database: string; readonly load: Load };

/**
 * Two nodes on one database behind a proxy, and clients that send requests while `breakAndMend` runs. Afterwards the
 * history is possible, no request waited too long, and the service works again.
 */
async function underLoad(clients: number, breakAndMend: (scene: Scene) => Promise<void>): Promise<void> {
  const database = await server.createDatabase();
  const proxy = await BreakingProxy.start(server.port);
  const url = server.url(new URL(database).pathname.slice(1), proxy.port);
  const settings = { ...SETTINGS, POSTERN_DATABASE_URL: url };
  const nodes = [await Service.start(settings), await Service.start(settings)];
  const load = await Load.prepare(nodes, 1_000);
  try {
    load.start(clients);
    await outcomes(load, 'success', 50);
    await breakAndMend({ proxy, database, load });
    await outcomes(load, 'success', 50);
  } finally {
    const history = await load.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    await proxy.stop();
    assert.deepEqual(violations(history), []);
    assert.ok(load.slowest < MAX_RESPONSE_MS, `a response took ${load.slowest} ms`);
    assertUseful(history);
  }
}

/** Waits until `count` requests sent from now on succeeded, or failed. */
function outcomes(load: Load, which: 'success' | 'failure', count: number): Promise<void> {
  const from = performance.now();
  const wanted = which === 'success' ? ['success'] : FAILURES;
  const met = () => wanted.reduce((sum, outcome) => sum + (load.outcomesSince(from)[outcome] ?? 0), 0);
  return eventually(() => met() >= count, 30_000);
}

/** A run in which nothing failed, or nothing succeeded, proves nothing. */
function assertUseful(history: readonly Event[]): void {
  for (const outcomes of [['success'], FAILURES, ['reused']])
    assert.ok(
      history.some(({ outcome }) => outcomes.includes(outcome)),
      `no request ended in ${outcomes.join(' or ')}`,
    );
}

describe('under load, no credential is used twice and no acknowledged token is lost when', {
  timeout: 240_000,
}, () => {
  test('PostgreSQL is killed and started again, twice', () =>
    underLoad(12, async ({ load }) => {
      for (let times = 0; times < 2; times++) {
        await outcomes(load, 'success', 50);
        await server.kill();
        await outcomes(load, 'failure', 1);
        await server.startAgain();
      }
    }));

  test('connections are closed in the middle of statements', () =>
    underLoad(12, async ({ proxy }) => {
      proxy.breakOneIn = 50;
      await eventually(() => proxy.breaks >= 20, 60_000);
      proxy.breakOneIn = 0;
    }));

  test('the server hangs until every client has given up once', () =>
    underLoad(12, async ({ proxy, load }) => {
      proxy.hang();
      await outcomes(load, 'failure', 12);
      proxy.resume();
    }));

  test('every connection of the pool is busy', () =>
    underLoad(60, async ({ database, load }) => {
      const locker = new pg.Client(database);
      await locker.connect();
      await locker.query('BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE');
      await outcomes(load, 'failure', 20);
      await locker.query('ROLLBACK');
      await locker.end();
    }));
});
