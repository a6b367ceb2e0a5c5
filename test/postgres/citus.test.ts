import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import pg from 'pg';
import { distribution, PLACEMENTS } from '../../src/store/citus.ts';
import { allMigrations, sqlFor } from '../../src/store/migrations.ts';
import { openStore } from '../../src/store/store.ts';
import { withinASecond } from '../support/eventually.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';
import { Service } from '../support/service.ts';
import { issueCode } from './load.ts';

/** Checks the schema in PostgreSQL against the requirements of Citus (docs.citusdata.com). */
describe('the schema on a Citus cluster', () => {
  let server: TestPostgres;
  let url: string;
  before(async () => {
    server = await TestPostgres.start();
  });
  beforeEach(async () => {
    url = await server.createDatabase();
    const store = openStore(url, { connections: 1 });
    await store.migrate();
    await store.close();
  });
  after(() => server.stop());

  test('every table has a placement', async () => {
    const rows = await query(url, `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`);
    assert.deepEqual(rows.map(({ name }) => name).sort(), Object.keys(PLACEMENTS).sort());
  });

  test('every unique index of a distributed table contains its distribution column', async () => {
    const rows = await query(
      url,
      `SELECT c.relname AS name, array_agg(a.attname::text) AS columns
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
        JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
        WHERE i.indisunique GROUP BY i.indexrelid, c.relname`,
    );
    for (const { name, columns } of rows as { name: string; columns: string[] }[]) {
      const placement = PLACEMENTS[name]!;
      if ('by' in placement) assert.ok(columns.includes(placement.by), `${name}: ${columns}`);
    }
  });

  test('there is no foreign key, sequence or trigger', async () => {
    const [counts] = await query(
      url,
      `SELECT (SELECT count(*)::int FROM pg_constraint WHERE contype = 'f') AS keys,
        (SELECT count(*)::int FROM pg_sequences) AS sequences,
        (SELECT count(*)::int FROM pg_trigger WHERE NOT tgisinternal) AS triggers`,
    );
    assert.deepEqual(counts, { keys: 0, sequences: 0, triggers: 0 });
    for (const { sql } of allMigrations()) assert.doesNotMatch(sqlFor('postgres', sql), /REFERENCES|SERIAL/i);
  });

  test('the statements for Citus are valid calls of its two functions', async () => {
    await query(
      url,
      `CREATE TABLE calls (call TEXT);
        CREATE FUNCTION create_distributed_table(name regclass, by text, colocate_with text DEFAULT 'default')
          RETURNS void LANGUAGE sql AS $$ INSERT INTO calls VALUES (name || ' by ' || by || ' with ' || colocate_with) $$;
        CREATE FUNCTION create_reference_table(name regclass)
          RETURNS void LANGUAGE sql AS $$ INSERT INTO calls VALUES (name || ' everywhere') $$`,
    );
    for (const table of Object.keys(PLACEMENTS)) {
      await query(url, distribution(table));
    }
    const calls = (await query(url, 'SELECT call FROM calls')).map(({ call }) => call);
    for (const call of [
      'users by id with none',
      'grants by user_id with users',
      'revoked_access_tokens by user_id with users',
      'user_emails by email with none',
      'sessions by id_hash with none',
      'applications everywhere',
      'application_secrets everywhere',
      'signing_keys everywhere',
      'migrations everywhere',
    ])
      assert.ok(calls.includes(call), call);
  });

  test('a table without a placement is refused', () => {
    assert.throws(() => distribution('unheard_of'), /no placement on a Citus cluster/);
  });
});

/**
 * Nodes that believe to be on a cluster, because PostgreSQL lists the extension. What a cluster does differently is
 * done to them; no claim is made that it does nothing else.
 */
describe('a node on Citus', () => {
  let server: TestPostgres;
  let url: string;
  let node: Service;
  before(async () => {
    server = await TestPostgres.start();
    url = await server.createDatabase();
    await query(
      url,
      `INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        VALUES (1, 'citus', 10, 11, false, '13.0')`,
    );
    node = await Service.start({ POSTERN_DATABASE_URL: url });
  });
  after(async () => {
    await node.stop();
    await server.stop();
  });

  test('sees a change that was made through another server within a second, without a notification', async () => {
    const other = await Service.start({ POSTERN_DATABASE_URL: url });
    const listener = new pg.Client(url);
    await listener.connect();
    await listener.query('LISTEN postern_changes');
    const heard: unknown[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload));
    const { clientId } = await other.createClient();
    const disabledAt = async () => (await node.app.store.applications.find(clientId))?.disabledAt;
    assert.equal(await disabledAt(), null);
    await other.app.store.applications.setDisabled(clientId, true, 5);
    await withinASecond(async () => (await disabledAt()) === 5);
    await listener.query('SELECT 1');
    assert.deepEqual(heard, [], 'a notification would keep the transaction from being prepared');
    await listener.end();
    await other.stop();
  });

  test('serves while the worker that has the rate counters is down, on the connections it has', async () => {
    const client = await node.createClient();
    const { id } = await node.createUser();
    const exchange = async () => (await node.exchange(client, await issueCode(node, client, id))).status;
    assert.equal(await exchange(), 200);
    const backends = () =>
      query(url, `SELECT pid FROM pg_stat_activity WHERE application_name = 'postern' ORDER BY pid`);
    const connected = await backends();
    await query(
      url,
      `CREATE FUNCTION worker_is_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'connection to the remote node worker-1:5432 failed' USING ERRCODE = '08006'; END $$;
        CREATE TRIGGER down BEFORE INSERT OR UPDATE ON rate_windows FOR EACH ROW EXECUTE FUNCTION worker_is_down()`,
    );
    for (let n = 0; n < 10; n++) assert.equal(await exchange(), 200);
    assert.deepEqual(await backends(), connected, 'an error of one worker is not the connection’s');
    for (let n = 0; n < 40; n++) await node.revoke(client, 'whatever');
    assert.equal((await node.revoke(client, 'whatever')).status, 429, 'the limit is kept by the process');
    await query(url, 'DROP TRIGGER down ON rate_windows');
  });

  test('is healthy without writing to a table of the cluster', async () => {
    assert.equal((await node.get('/health')).status, 200);
    assert.deepEqual(await query(url, `SELECT 1 FROM heartbeats WHERE name = 'health'`), []);
  });
});
