import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { newClientSecret } from '../../src/protocol/client-secret.ts';
import { Listener } from '../../src/store/drivers/postgres-listener.ts';
import { PostgresServers } from '../../src/store/drivers/postgres-servers.ts';
import { openStore } from '../../src/store/store.ts';
import { eventually } from '../support/eventually.ts';

/*
 * A running server sees the effect of a command within a second. Mocked timers bound the mechanism itself, so
 * the result does not depend on how busy the machine is.
 */
const ONE_SECOND_MS = 1_000;

test('SQLite: a cached application changed by another connection is reread within a second', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  const [server, command] = [openStore(`sqlite:${folder}/db`), openStore(`sqlite:${folder}/db`)];
  t.after(async () => {
    await server.close();
    await command.close();
    rmSync(folder, { recursive: true });
  });
  await server.migrate();
  await command.applications.create({
    clientId: 'app_1',
    ownerId: 'owner',
    name: 'Test application',
    redirectUris: ['https://client.example/callback'],
    scope: 1,
    optionalScope: 0,
    secret: newClientSecret(),
    now: 0,
  });
  const disabledAt = async () => (await server.applications.find('app_1'))?.disabledAt;
  assert.equal(await disabledAt(), null);
  await command.applications.setDisabled('app_1', true, 5);
  assert.equal(await disabledAt(), null, 'served from the cache');
  t.mock.timers.tick(ONE_SECOND_MS);
  assert.equal(await disabledAt(), 5);
});

test('PostgreSQL: without its listening connection, a node drops its caches at least once per second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const listener = new Listener(
    new PostgresServers('postgres://127.0.0.1:1/nothing_listens_here'),
    'changes',
  );
  t.after(() => listener.close());
  let drops = 0;
  listener.add(() => drops++);
  for (const expected of [1, 2, 3]) {
    t.mock.timers.tick(ONE_SECOND_MS);
    await eventually(() => drops === expected, 5_000);
  }
});
