import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';
import { Service } from '../support/service.ts';
import { issueCode } from './load.ts';

let server: TestPostgres;
before(async () => {
  server = await TestPostgres.start();
});
after(() => server.stop());

test('while the database is read-only, /health is 503; all is well within two seconds after it can be written', async () => {
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  const node = await Service.start({ POSTERN_DATABASE_URL: url });
  const client = await node.createClient();
  const user = await node.createUser();
  const codes = await Promise.all(Array.from({ length: 20 }, () => issueCode(node, client, user.id)));
  const readOnly = async (value: 'on' | 'off') =>
    query(server.url(), `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
  try {
    await readOnly('on');
    await query(
      server.url(),
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
    await eventually(async () => (await node.get('/health')).status === 503);
    await readOnly('off');
    await eventually(async () => (await node.get('/health')).status === 200, 3_000);
    for (const code of codes) assert.equal((await node.exchange(client, code)).status, 200);
  } finally {
    await readOnly('off');
    await node.stop();
  }
});
