import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { endAll, newFolder, PosternProcess, removeFolder } from '../support/postern-process.ts';
import { PreparedData, withPostern } from '../support/prepared-data.ts';
import { Service } from '../support/service.ts';

after(endAll);

/** In blocks of 512 or 1,024 bytes, as the shell counts: more than a start needs, and soon used up. */
const SMALL_DISK = { maxFileBlocks: 1_000 };

describe('/health', { concurrency: 4, timeout: 120_000 }, () => {
  test('is 503 when the disk takes no more, though reads still work', async () => {
    const folder = newFolder();
    try {
      const prepared = await PreparedData.in(folder);
      const [tokens] = await prepared.tokens(1);
      const postern = await PosternProcess.start(prepared.settings, SMALL_DISK);
      assert.equal((await postern.get('/health')).status, 200);
      let refreshToken = tokens!.refresh_token;
      for (;;) {
        const { status, body } = await postern.refresh(prepared.client, refreshToken);
        if (status !== 200) break;
        refreshToken = String(body.refresh_token);
      }
      await eventually(async () => (await postern.get('/health')).status === 503);
      assert.equal((await postern.userinfo(tokens!.access_token)).status, 200);
    } finally {
      removeFolder(folder);
    }
  });

  test('asks the database at most once per second', async (t) => {
    const service = await Service.start();
    const write = t.mock.method(service.app.store, 'checkWritable');
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => (await service.get('/health')).status),
    );
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.ok(write.mock.callCount() <= 3, `${write.mock.callCount()} writes`);
    await service.stop();
  });

  test('is 503 while the service drains, and requests are served until it stops', () =>
    withPostern(
      async (prepared, postern) => {
        const [tokens] = await prepared.tokens(1);
        assert.equal((await postern.get('/health')).status, 200);
        postern.command.child.kill('SIGTERM');
        await eventually(async () => (await postern.get('/health')).status === 503);
        const served = await postern.refresh(prepared.client, tokens!.refresh_token);
        assert.deepEqual([served.status, served.headers.get('connection')], [200, 'close']);
        assert.equal((await postern.command.end()).code, 0);
      },
      { POSTERN_DRAIN_DELAY: '3' },
    ));
});
