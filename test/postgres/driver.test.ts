import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import pg from 'pg';
import { batchableUpdate } from '../../src/store/drivers/batchable-statement.ts';
import { PostgresDriver } from '../../src/store/drivers/postgres.ts';
import {
  DatabaseUnavailable,
  DuplicateKey,
  OutcomeUnknown,
  StatementRefused,
} from '../../src/store/errors.ts';
import { allMigrations } from '../../src/store/migrations.ts';
import { eventually, eventuallySucceeds } from '../support/eventually.ts';
import { query } from '../support/postgres-database.ts';
import { freePort, TestPostgres } from '../support/postgres-server.ts';
import { BreakingProxy } from './proxy.ts';

const TIMEOUT_MS = 1_000;
const INSERT = 'INSERT INTO things (id, n) VALUES ($1, $2)';

describe('the PostgreSQL driver', () => {
  let server: TestPostgres;
  let url: string;
  let proxy: BreakingProxy;
  let driver: PostgresDriver;
  before(async () => {
    server = await TestPostgres.start();
    url = await server.createDatabase();
    proxy = await BreakingProxy.start(server.port);
    const through = server.url(new URL(url).pathname.slice(1), proxy.port);
    driver = new PostgresDriver(through, { connections: 2, timeoutMs: TIMEOUT_MS });
    await driver.migrate(allMigrations());
    await driver.write('CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, n BIGINT)');
  });
  after(async () => {
    await driver.close();
    await proxy.stop();
    await server.stop();
  });
  beforeEach(() => query(url, 'TRUNCATE things'));

  const insert = (id: string, n = 0) => driver.write(INSERT, [id, n]);
  const ids = async (): Promise<unknown[]> =>
    (await driver.read('SELECT id FROM things ORDER BY id')).map(({ id }) => id);
  /** The server has finished the statements that reached it late, and the driver is connected again. */
  const recovered = () =>
    eventually(async () => {
      const [row] = await query(
        url,
        `SELECT count(*)::int AS busy FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'postern' AND state <> 'idle'`,
      );
      const works = await ids().then(
        () => true,
        () => false,
      );
      return row!.busy === 0 && works;
    });
  const tookMs = async (work: Promise<unknown>): Promise<number> => {
    const from = performance.now();
    await work;
    return performance.now() - from;
  };

  test('returns times and counts as numbers, and booleans as 1 and 0', async () => {
    const sql =
      'SELECT CAST($1 AS BIGINT) AS time, count(*) AS count, true AS yes, 1 = 2 AS no, null AS none FROM things';
    const rows = await driver.read(sql, [9_007_199_254_740_991]);
    assert.deepEqual(rows, [{ time: 9_007_199_254_740_991, count: 0, yes: 1, no: 0, none: null }]);
  });

  test('a transaction takes effect completely or not at all', async () => {
    const statement = (id: string) => ({ sql: INSERT, values: [id, 1] });
    await driver.transaction([statement('a'), statement('b')]);
    await assert.rejects(driver.transaction([statement('c'), statement('a'), statement('d')]), DuplicateKey);
    assert.deepEqual(await ids(), ['a', 'b']);
  });

  test('a change is announced to every node with its subject, when it commits', async () => {
    const node = new PostgresDriver(url, { connections: 1, timeoutMs: TIMEOUT_MS });
    try {
      const subjects: (string | undefined)[] = [];
      node.onExternalChange((subject) => subjects.push(subject));
      await eventually(() => subjects.length === 1);
      const insertion = { sql: INSERT, values: ['a', 1] };
      await driver.transaction([insertion, ...driver.notifyStatements('application app_a')]);
      await assert.rejects(driver.transaction([...driver.notifyStatements('undone'), insertion]));
      await driver.transaction(driver.notifyStatements('resource servers'));
      await eventually(() => subjects.length === 3);
      assert.deepEqual(subjects, [undefined, 'application app_a', 'resource servers']);
    } finally {
      await node.close();
    }
  });

  test('a transaction that lost a deadlock is run again', async () => {
    const another = new PostgresDriver(url, { connections: 4 });
    for (const id of ['a', 'b']) await insert(id);
    const add = (id: string) => ({ sql: 'UPDATE things SET n = n + 1 WHERE id = $1', values: [id] });
    const pause = { sql: 'SELECT pg_sleep(0.3)', values: [] };
    const opposite = [
      [add('a'), pause, add('b')],
      [add('b'), pause, add('a')],
    ];
    await Promise.all(opposite.map((statements) => another.transaction(statements)));
    assert.deepEqual(await query(url, 'SELECT n::int AS n FROM things'), [{ n: 2 }, { n: 2 }]);
    await another.close();
  });

  test('a duplicate key that Citus reports as an internal error is recognised', async () => {
    await query(
      url,
      `CREATE FUNCTION refused_by_worker() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'duplicate key value violates unique constraint "user_emails_pkey_102040"'
          USING ERRCODE = 'XX000', DETAIL = 'Key (email)=(ada@example.com) already exists.'; END $$`,
    );
    await assert.rejects(driver.write('SELECT refused_by_worker()'), DuplicateKey);
  });

  test('of concurrent statements only the failing ones fail', async () => {
    await insert('taken');
    const results = await Promise.allSettled(['a', 'taken', 'b', 'taken', 'c'].map((id) => insert(id)));
    assert.deepEqual(
      results.map(({ status }) => status === 'fulfilled'),
      [true, false, true, false, true],
    );
    assert.deepEqual(await ids(), ['a', 'b', 'c', 'taken']);
  });

  test('a text with a NUL matches nothing and causes no error', async () => {
    await insert('a');
    assert.deepEqual(await driver.read('SELECT id FROM things WHERE id = $1', ['a\0']), []);
  });

  describe('batched statements', () => {
    const TAKE = batchableUpdate(['text', 'bigint'], {
      table: 'things',
      set: 'n = n + $2',
      where: 'id = $1',
      returning: 'id, n',
    });
    const take = (id: string, n: string | number = 1) => driver.runBatched(TAKE, [id, n]);
    const ODD = ['', ' ', '"', '\\', '{}', ',', 'NULL', "'", '\n', 'ä\u{1f600}', '\\"{,}'];

    test('each request gets its own row, whatever characters its values have', async () => {
      for (const [n, id] of ODD.entries()) await insert(id, n);
      const asked = [...ODD, 'nobody', 'a\0', ...ODD.slice(-3)];
      assert.ok(asked.length <= 16, 'they go in one statement');
      const rows = await Promise.all(asked.map((id) => take(id)));
      for (const [index, id] of asked.entries()) {
        const row = rows[index];
        if (row) assert.deepEqual([row[0], row[1]], [id, ODD.indexOf(id) + 1]);
      }
      // Of two requests for one row in one batch, one gets the row, which was changed once.
      for (const id of ODD) assert.equal(rows.filter((row) => row?.[0] === id).length, 1);
    });

    test('an invalid value fails alone', async () => {
      for (const id of ['a', 'b', 'c']) await insert(id);
      const results = await Promise.allSettled([take('a'), take('b', 'no number'), take('c')]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      const rows = await driver.read('SELECT id, n FROM things ORDER BY id');
      assert.deepEqual(
        rows.map(({ n }) => n),
        [1, 0, 1],
      );
    });

    test('a request for a locked row fails alone', async () => {
      for (const id of ['a', 'held', 'z']) await insert(id);
      const holder = new pg.Client({ connectionString: url });
      await holder.connect();
      try {
        await holder.query('BEGIN');
        await holder.query("SELECT * FROM things WHERE id = 'held' FOR UPDATE");
        const [a, held, z] = await Promise.allSettled([take('a'), take('held'), take('z')]);
        assert.deepEqual([a!.status, z!.status], ['fulfilled', 'fulfilled']);
        assert.ok(held!.status === 'rejected' && held!.reason instanceof StatementRefused);
        await holder.query('COMMIT');
        assert.deepEqual(await take('held'), ['held', 1]);
      } finally {
        await holder.end();
      }
    });

    test('a lost response is an unknown outcome for each, and nothing is sent again', async () => {
      const ids = ['lost in one batch 1', 'lost in one batch 2'];
      for (const id of ids) await insert(id);
      proxy.swallowResponseTo('{"lost in one batch 1","lost in one batch 2"}');
      const results = await Promise.allSettled(ids.map((id) => take(id)));
      for (const result of results)
        assert.ok(result.status === 'rejected' && result.reason instanceof OutcomeUnknown);
      assert.deepEqual(await query(url, 'SELECT n::int AS n FROM things'), [{ n: 1 }, { n: 1 }]);
    });

    test('when the server is silent, later requests do not wait longer than earlier ones', async () => {
      await take('a');
      proxy.hang();
      const times: Promise<number>[] = [];
      for (let n = 0; n < 4; n++) {
        times.push(
          tookMs(
            take('a').catch((error) =>
              assert.ok(error instanceof OutcomeUnknown || error instanceof DatabaseUnavailable),
            ),
          ),
        );
        await new Promise((resolve) => setImmediate(resolve));
      }
      for (const ms of await Promise.all(times)) assert.ok(ms < 2 * TIMEOUT_MS, `${Math.round(ms)} ms`);
      proxy.resume();
      await recovered();
    });

    test('close waits for them', async () => {
      await insert('a');
      const another = new PostgresDriver(url);
      const taken = another.runBatched(TAKE, ['a', 1]);
      await another.close();
      assert.deepEqual(await taken, ['a', 1]);
    });
  });

  test('a statement prepared before a schema change keeps working', async () => {
    const read = () => driver.read('SELECT * FROM things WHERE id = $1', ['a']);
    await insert('a', 1);
    for (let times = 0; times < 4; times++) await read();
    await query(url, 'ALTER TABLE things ADD COLUMN more TEXT');
    const results = await Promise.all([read(), read(), read(), insert('b')]);
    assert.deepEqual(results[0], [{ id: 'a', n: 1, more: null }]);
    await query(url, 'ALTER TABLE things DROP COLUMN more');
    assert.deepEqual(await read(), [{ id: 'a', n: 1 }]);
  });

  test('a lost response to a write is an unknown outcome, and the write is not sent again', async () => {
    await driver.read('SELECT 1');
    proxy.swallowResponseTo("'lost answer'");
    const sql = "INSERT INTO things (id, n) VALUES ('lost answer', 1)";
    await assert.rejects(driver.write(sql), OutcomeUnknown);
    assert.deepEqual(await ids(), ['lost answer']);
  });

  test('a read whose response was lost is sent again', async () => {
    await insert('a');
    proxy.swallowResponseTo("'read again'");
    assert.deepEqual(await driver.read("SELECT id, 'read again' AS note FROM things"), [
      { id: 'a', note: 'read again' },
    ]);
  });

  test('a silent server is abandoned in time, and used again when it is back', async () => {
    await insert('a');
    proxy.hang();
    const waits = [assert.rejects(insert('b'), OutcomeUnknown), assert.rejects(ids(), DatabaseUnavailable)];
    assert.ok((await tookMs(Promise.all(waits))) < 3 * TIMEOUT_MS);
    proxy.resume();
    await recovered();
    assert.deepEqual(
      (await ids()).filter((id) => id === 'a'),
      ['a'],
    );
  });

  test('statements that wait for a busy connection are refused in time, and refused ones took no effect', async () => {
    const locker = new pg.Client(url);
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE things IN ACCESS EXCLUSIVE MODE');
    const writes = Array.from({ length: 50 }, (_, index) => insert(`waiting ${index}`));
    const results = await Promise.allSettled(writes);
    await locker.query('ROLLBACK');
    await locker.end();
    const reasons = results.map((result) => (result.status === 'rejected' ? result.reason : undefined));
    assert.ok(
      reasons.every((reason) => reason instanceof DatabaseUnavailable || reason instanceof OutcomeUnknown),
    );
    assert.ok(reasons.some((reason) => reason instanceof DatabaseUnavailable));
    const done = new Set(await ids());
    for (const [index, reason] of reasons.entries())
      assert.ok(reason instanceof OutcomeUnknown || !done.has(`waiting ${index}`), `${index}: ${reason}`);
  });

  test('a server that falls silent while connecting does not use up the connections', async () => {
    const through = server.url(new URL(url).pathname.slice(1), proxy.port);
    const another = new PostgresDriver(through, { connections: 1, timeoutMs: TIMEOUT_MS });
    proxy.lose('SET lock_timeout');
    await assert.rejects(another.read('SELECT 1'), DatabaseUnavailable);
    assert.deepEqual(await another.read('SELECT 1 AS one'), [{ one: 1 }]);
    await another.close();
  });

  test('connections that were opened while the database was read-only are replaced once it can be written', async () => {
    const name = new URL(url).pathname.slice(1);
    const readOnly = (value: 'on' | 'off') =>
      query(server.url(), `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
    await readOnly('on');
    const another = new PostgresDriver(url, { connections: 4, timeoutMs: TIMEOUT_MS });
    const write = () => another.write(INSERT, [randomUUID(), 1]);
    try {
      await Promise.all(Array.from({ length: 12 }, () => assert.rejects(write(), DatabaseUnavailable)));
      assert.deepEqual(await another.read('SELECT 1 AS one'), [{ one: 1 }], 'it can still be read');
      await readOnly('off');
      await eventuallySucceeds(write, 2_000);
      // Not one of them is left behind.
      await eventuallySucceeds(() => Promise.all(Array.from({ length: 40 }, write)), 2_000);
      await Promise.all(Array.from({ length: 40 }, write));
    } finally {
      await readOnly('off');
      await another.close();
    }
  });

  test('an unreachable server is reported in time', async () => {
    const nowhere = new PostgresDriver(`postgres://127.0.0.1:${await freePort()}/x`, { timeoutMs: 300 });
    await assert.rejects(nowhere.read('SELECT 1'), DatabaseUnavailable);
    await nowhere.close();
  });

  test('a wrong password is reported at once', async () => {
    const wrong = new PostgresDriver(url.replace(':postern@', ':wrong@'), { timeoutMs: 20_000 });
    const took = await tookMs(assert.rejects(wrong.read('SELECT 1'), DatabaseUnavailable));
    assert.ok(took < 10_000, `${took} ms`);
    await wrong.close();
  });
});
