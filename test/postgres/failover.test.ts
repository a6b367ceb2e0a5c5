import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openDriver } from '../../src/store/drivers/open-driver.ts';
import { eventually, eventuallySucceeds } from '../support/eventually.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';
import { Service } from '../support/service.ts';
import { violations } from './history.ts';
import { Load } from './load.ts';

let primary: TestPostgres;
let standby: TestPostgres;
before(async () => {
  primary = await TestPostgres.start();
  standby = await TestPostgres.standbyOf(primary, { synchronous: true });
});
after(async () => {
  await standby.stop();
  await primary.stop();
});

const onBoth = (database: string) =>
  `postgres://postern:postern@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/${database}?target_session_attrs=read-write`;

test('nodes find the new primary after a failover, never believe the old one again, and lose no acknowledged token', {
  timeout: 180_000,
}, async () => {
  const database = new URL(await primary.createDatabase()).pathname.slice(1);
  const settings = {
    POSTERN_DATABASE_URL: onBoth(database),
    POSTERN_RATE_LIMIT: '1000000000',
    POSTERN_DATABASE_CONNECTIONS: '4',
  };
  const nodes = [await Service.start(settings), await Service.start(settings)];
  const load = await Load.prepare(nodes, 1_000);
  const successes = (count: number) => {
    const from = performance.now();
    return eventually(() => (load.outcomesSince(from).success ?? 0) >= count, 30_000);
  };
  try {
    load.start(8);
    await successes(50);
    await primary.kill();
    await standby.promote();
    await successes(50);

    // The old primary is back, as it was, and takes writes; the new one is away.
    await primary.startAgain();
    await query(primary.url(), `ALTER SYSTEM RESET synchronous_standby_names`);
    await query(primary.url(), 'SELECT pg_reload_conf()');
    await standby.kill();
    await eventually(async () => (await nodes[0]!.get('/health')).status === 503);
    const alone = performance.now();
    await eventually(() => (load.outcomesSince(alone).unchanged ?? 0) >= 8);
    assert.equal(load.outcomesSince(alone).success, undefined, 'nothing is written to the old primary');

    await standby.startAgain();
    await successes(50);
  } finally {
    const history = await load.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    assert.deepEqual(violations(history), []);
  }
});

test('target_session_attrs: a standby is passed over, or refused when it is alone', async () => {
  const server = await TestPostgres.start();
  const replica = await TestPostgres.standbyOf(server);
  const open = (ports: readonly number[], parameters = '') =>
    openDriver(
      `postgres://postern:postern@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres${parameters}`,
      { connections: 1, timeoutMs: 2_000 },
    );
  const isStandby = async (ports: readonly number[], parameters = '') => {
    const driver = open(ports, parameters);
    try {
      return (await driver.read('SELECT pg_is_in_recovery() AS standby'))[0]!.standby === 1;
    } finally {
      await driver.close();
    }
  };
  try {
    assert.equal(await isStandby([replica.port, server.port]), true, 'any server will do');
    for (const kind of ['read-write', 'primary']) {
      const parameters = `?target_session_attrs=${kind}`;
      assert.equal(await isStandby([replica.port, server.port], parameters), false);
      await assert.rejects(isStandby([replica.port], parameters), { name: 'DatabaseUnavailable' });
    }
    // A server that is away costs one attempt, and not the request.
    await server.kill();
    await replica.promote();
    assert.equal(await isStandby([server.port, replica.port], '?target_session_attrs=read-write'), false);
    await eventuallySucceeds(() => server.startAgain());
  } finally {
    await replica.stop();
    await server.stop();
  }
});
