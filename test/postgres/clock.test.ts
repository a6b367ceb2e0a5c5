import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openStore, type Store } from '../../src/store/store.ts';
import { eventually } from '../support/eventually.ts';
import { clockAhead, endAll, newFolder, PosternProcess, removeFolder } from '../support/postern-process.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';
import { DAY, MINUTE } from '../support/service.ts';

let server: TestPostgres;
let url: string;
let store: Store;
const folder = newFolder();

before(async () => {
  server = await TestPostgres.start();
  url = await server.createDatabase();
  store = openStore(url, { connections: 1 });
  await store.migrate();
});
after(async () => {
  endAll();
  await store.close();
  await server.stop();
  removeFolder(folder);
});

const start = (settings: Record<string, string> = {}) =>
  PosternProcess.start({
    POSTERN_DATA_DIR: folder,
    POSTERN_DATABASE_URL: url,
    POSTERN_SECRET: 'a secret for tests that is long enough',
    ...settings,
  });

test('a node whose clock is 40 days ahead deletes nothing, is unhealthy, and leaves the sweeping to others', {
  timeout: 120_000,
}, async () => {
  const now = Date.now();
  await query(
    url,
    `INSERT INTO users (id, email, password_hash, created_at, updated_at) VALUES ('u', 'u@example.com', '', ${now}, ${now});
     INSERT INTO grants (user_id, id, client_id, scope, generation, expires_at, created_at)
       VALUES ('u', 'live', 'app_x', 1, 3, ${now + 30 * DAY}, ${now}), ('u', 'old', 'app_x', 1, 3, ${now - DAY}, ${now - 31 * DAY});
     INSERT INTO sessions (id_hash, user_id, created_at, expires_at, address, user_agent)
       VALUES ('s', 'u', ${now}, ${now + 14 * DAY}, '', '')`,
  );
  const wrong = await start({ ...clockAhead(40 * DAY), POSTERN_METRICS_PORT: '0' });
  await eventually(async () => (await wrong.get('/health')).status === 503);
  await eventually(() => wrong.command.stdout.includes("differs from the database's"));
  const right = await start();
  assert.equal((await right.get('/health')).status, 200);
  // The other node sweeps, so the wrong one had several turns in which it could have.
  await eventually(async () => (await query(url, 'SELECT id FROM grants')).length === 1);
  assert.deepEqual(await query(url, 'SELECT id FROM grants'), [{ id: 'live' }]);
  assert.equal((await query(url, 'SELECT 1 FROM sessions')).length, 1);
  const { stdout } = await wrong.stop();
  assert.equal(stdout.match(/differs from the database/g)!.length, 1);
  await right.stop();
});

test("the skew is measured against the database's clock, and 30 seconds are tolerated", async () => {
  const skewOf = (ms: number) => store.clock.compare(() => Date.now() + ms);
  assert.deepEqual(await skewOf(0), { trusted: true, aheadMs: 0 });
  for (const [ms, trusted] of [
    [10_000, true],
    [-10_000, true],
    [5 * MINUTE, false],
    [-5 * MINUTE, false],
  ] as const) {
    const check = await skewOf(ms);
    assert.equal(check.trusted, trusted);
    assert.ok(Math.abs(check.aheadMs - ms) < 2_000, `${check.aheadMs}`);
  }
});
