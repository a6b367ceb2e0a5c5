import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { TestPostgres } from '../support/postgres-server.ts';
import { Service } from '../support/service.ts';
import { type Event, violations } from './history.ts';
import { Load } from './load.ts';
import { BreakingProxy } from './proxy.ts';

/** A statement has five seconds, and a request up to two statements that may have to wait. */
const BOUND_MS = 12_000;
const SETTINGS = { POSTERN_RATE_LIMIT: '1000000000', POSTERN_DATABASE_CONNECTIONS: '4' };

let server: TestPostgres;
before(async () => {
  // Durable, as in production: what was acknowledged must outlive the kill.
  server = await TestPostgres.start(['fsync=on']);
});
after(() => server.stop());

type Scene = { readonly proxy: BreakingProxy; readonly database: string };

/**
 * Two nodes behind a proxy, on one database, and clients that keep asking while `breakAndMend` does
 * what it says. Then: nothing impossible happened, nobody waited too long, and it works again.
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
    await recovery(load, 0);
    await breakAndMend({ proxy, database });
    await recovery(load, performance.now());
  } finally {
    const history = await load.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    await proxy.stop();
    assert.deepEqual(violations(history), []);
    assert.ok(load.slowest < BOUND_MS, `an answer took ${load.slowest} ms`);
    assertUseful(history);
  }
}

async function recovery(load: Load, from: number): Promise<void> {
  for (let tries = 0; tries < 150; tries++) {
    if ((load.outcomesSince(from).success ?? 0) > 50) return;
    await sleep(100);
  }
  assert.fail(`the nodes did not recover: ${JSON.stringify(load.outcomesSince(from))}`);
}

/** A run in which nothing broke, or nothing worked, proves nothing. */
function assertUseful(history: readonly Event[]): void {
  const outcomes = Map.groupBy(history, ({ outcome }) => outcome);
  for (const outcome of ['success', 'unknown', 'reused'] as const)
    assert.ok((outcomes.get(outcome)?.length ?? 0) > 0, `no request ended in ${outcome}`);
}

describe('under load, nothing is spent twice and nothing acknowledged is lost when', {
  timeout: 240_000,
}, () => {
  test('PostgreSQL is killed and started again, twice', () =>
    underLoad(12, async () => {
      for (let times = 0; times < 2; times++) {
        await sleep(500);
        await server.kill();
        await sleep(500);
        await server.startAgain();
      }
    }));

  test('connections are cut in the middle of statements', () =>
    underLoad(12, async ({ proxy }) => {
      proxy.cutOneIn = 50;
      for (let tries = 0; tries < 80 && proxy.cuts < 40; tries++) await sleep(100);
      proxy.cutOneIn = 0;
      assert.ok(proxy.cuts > 10, `only ${proxy.cuts} cuts`);
    }));

  test('the server hangs for ten seconds', () =>
    underLoad(12, async ({ proxy }) => {
      proxy.hang();
      await sleep(10_000);
      proxy.goOn();
    }));

  test('every connection of the pool is busy', () =>
    underLoad(60, async ({ database }) => {
      const locker = new pg.Client(database);
      await locker.connect();
      await locker.query('BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE');
      await sleep(6_000);
      await locker.query('ROLLBACK');
      await locker.end();
    }));
});
