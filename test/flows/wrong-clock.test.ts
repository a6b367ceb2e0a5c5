import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Sweeper } from '../../src/sweeper.ts';
import { Postern } from '../support/command-line.ts';
import { eventually } from '../support/eventually.ts';
import { clockAhead, endAll, newFolder, PosternProcess, removeFolder } from '../support/postern-process.ts';
import { PreparedData } from '../support/prepared-data.ts';
import { DAY, MINUTE, Service } from '../support/service.ts';

/** Each test mostly waits. */
const CONCURRENT = { concurrency: 4, timeout: 120_000 };

after(endAll);

describe('an SQLite service whose clock is wrong', CONCURRENT, () => {
  test('40 days ahead: no grant and no session is deleted, /health is 503, and the log says so once', async () => {
    const folder = newFolder();
    try {
      const prepared = await PreparedData.in(folder);
      const [tokens] = await prepared.tokens(1);
      const right = await PosternProcess.start(prepared.settings);
      assert.equal((await right.get('/health')).status, 200);
      await right.stop();

      const wrong = await PosternProcess.start({ ...prepared.settings, ...clockAhead(40 * DAY) });
      await eventually(async () => (await wrong.get('/health')).status === 503);
      await eventually(() => wrong.command.stdout.includes('far ahead'));
      const { stdout } = await wrong.stop();
      const logged = stdout.split('\n').filter((line) => line.includes('far ahead'));
      assert.equal(logged.length, 1, stdout);
      assert.match(logged[0]!, /"level":50,.*"clock_ahead_seconds":345\d{4}/);

      const corrected = await PosternProcess.start(prepared.settings);
      assert.equal((await corrected.get('/health')).status, 200);
      assert.equal((await corrected.refresh(prepared.client, tokens!.refresh_token)).status, 200);
      await corrected.stop();
    } finally {
      removeFolder(folder);
    }
  });

  test('stopped for 40 days: it serves and sweeps again once the operator confirms the clock', async (t) => {
    const postern = new Postern(t);
    await postern.withStoreReady(async (store) => {
      await store.clock.record(Date.now() - 40 * DAY);
    });
    const process = await PosternProcess.start({ POSTERN_DATA_DIR: postern.dataDir });
    assert.equal((await process.get('/health')).status, 503);
    const doctor = await postern.run(['doctor']);
    assert.equal(doctor.code, 1);
    assert.match(doctor.stdout, /FAULT +The service last ran 40 days ago, by this clock/);
    assert.match((await postern.run(['confirm-clock'])).stdout, /^It is \d{4}-/);
    await eventually(async () => (await process.get('/health')).status === 200);
    assert.match(
      (await postern.run(['doctor'])).stdout,
      /ok +The clock goes on from when the service last ran/,
    );
    await process.stop();
  });

  test('back in time: /health is 503 until it has caught up', async () => {
    const service = await Service.start();
    assert.equal((await service.get('/health')).status, 200);
    service.clock.advance(-10 * MINUTE);
    await eventually(async () => (await service.get('/health')).status === 503);
    service.clock.advance(11 * MINUTE);
    await eventually(async () => (await service.get('/health')).status === 200);
    await service.stop();
  });

  test('a sweeper that is ahead deletes nothing and gives its lease up, until the clock is right', async (t) => {
    const service = await Service.start();
    const sweeper = new Sweeper(service.app);
    const compare = t.mock.method(service.app.store.clock, 'compare');
    const rows = async (table: string) => (await service.rows(`SELECT 1 FROM ${table}`)).length;
    await service.tokens(await service.createClient(), await service.signedIn());
    sweeper.start();
    await eventually(async () => (await rows('leases')) === 1);
    service.clock.advance(40 * DAY);
    await eventually(async () => (await rows('leases')) === 0);
    const compared = compare.mock.callCount();
    await eventually(() => compare.mock.callCount() > compared + 2);
    assert.deepEqual([await rows('grants'), await rows('sessions')], [1, 1]);
    service.clock.advance(-40 * DAY);
    await eventually(async () => (await rows('leases')) === 1);
    await sweeper.stop();
    await service.stop();
  });
});
