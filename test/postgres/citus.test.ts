import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { distribution, PLACEMENTS } from '../../src/store/citus.ts';
import { allMigrations, sqlFor } from '../../src/store/migrations.ts';
import { openStore } from '../../src/store/store.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';

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
      const statement = distribution(table);
      if (statement) await query(url, statement);
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
    ])
      assert.ok(calls.includes(call), call);
  });

  test('a table without a placement is refused', () => {
    assert.throws(() => distribution('unheard_of'), /no placement on a Citus cluster/);
  });
});
