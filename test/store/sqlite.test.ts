import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { SqliteDriver } from '../../src/store/drivers/sqlite.ts';
import { DatabaseUnavailable, DuplicateKey } from '../../src/store/errors.ts';
import { allMigrations } from '../../src/store/migrations.ts';
import { openStore } from '../../src/store/store.ts';
import { eventuallySucceeds } from '../support/eventually.ts';
import type { Opened } from './contract/fixtures.ts';
import { storeContract } from './contract.ts';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'postern-test-'));
const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true });

async function openSqlite(): Promise<Opened> {
  const folder = newFolder();
  const url = `sqlite:${join(folder, 'postern.db')}`;
  const store = openStore(url);
  return {
    store,
    url,
    another: async (options) => openStore(url, options),
    close: async () => {
      await store.close();
      remove(folder);
    },
  };
}

storeContract('sqlite', openSqlite);

describe('the SQLite driver', () => {
  const folder = newFolder();
  const path = join(folder, 'driver.db');
  const parked = join(folder, 'parked.db');
  let driver: SqliteDriver;
  before(async () => {
    driver = new SqliteDriver(path);
    await driver.write('CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL)');
  });
  after(async () => {
    await driver.close();
    remove(folder);
  });

  const INSERT = 'INSERT INTO things (id, n) VALUES ($1, $2)';
  const insert = (id: string, n = 0) => driver.write(INSERT, [id, n]);
  const ids = async (like: string): Promise<unknown[]> =>
    (await driver.read('SELECT id FROM things WHERE id LIKE $1 ORDER BY id', [like])).map(({ id }) => id);
  const settled = async (writes: Promise<unknown>[]): Promise<unknown[]> =>
    (await Promise.allSettled(writes)).map((one) => (one.status === 'fulfilled' ? 'done' : one.reason));

  test('numbered parameters may be repeated and come in any order', async () => {
    assert.deepEqual(
      { ...(await driver.read('SELECT $2 AS b, $1 AS a, $2 AS again', ['x', 'y']))[0] },
      {
        b: 'y',
        a: 'x',
        again: 'y',
      },
    );
  });

  test('a transaction takes effect completely or not at all', async () => {
    await insert('whole-3');
    const three = ['whole-1', 'whole-2', 'whole-3'].map((id) => ({ sql: INSERT, values: [id, 1] }));
    await assert.rejects(driver.transaction(three), DuplicateKey);
    assert.deepEqual(await ids('whole-%'), ['whole-3']);
    const rows = await driver.transaction([
      ...three.slice(0, 2),
      { sql: 'SELECT count(*) AS n FROM things WHERE id LIKE $1', values: ['whole-%'] },
    ]);
    assert.equal(rows[2]![0]!.n, 3);
  });

  test('consecutive writes let the event loop turn in between', async () => {
    let turns = 0;
    let done = false;
    const count = () => {
      turns++;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    for (let n = 0; n < 50; n++) await insert(`chain-${n}`);
    done = true;
    assert.ok(turns >= 20, `${turns} turns for 50 writes: two a turn at most`);
  });

  test('in a group of writes only the failing ones fail: a key, a constraint, a statement, a transaction', async () => {
    await insert('group-taken');
    const results = await settled([
      insert('group-1'),
      insert('group-taken'),
      insert('group-2'),
      driver.write(INSERT, ['group-null', null]),
      driver.write('INSERT INTO nowhere VALUES (1)'),
      driver.transaction([
        { sql: INSERT, values: ['group-3', 0] },
        { sql: INSERT, values: ['group-taken', 0] },
      ]),
      driver.transaction([
        { sql: INSERT, values: ['group-4', 0] },
        { sql: INSERT, values: ['group-5', 0] },
      ]),
      insert('group-6'),
    ]);
    const outcomes = results.map((one) => (one instanceof Error ? one.constructor.name : one));
    assert.deepEqual(outcomes, [
      'done',
      'DuplicateKey',
      'done',
      'Error',
      'Error',
      'DuplicateKey',
      'done',
      'done',
    ]);
    const kept = ['group-1', 'group-2', 'group-4', 'group-5', 'group-6', 'group-taken'];
    assert.deepEqual(await ids('group-%'), kept);
  });

  test('writes of one turn take effect in the order of their calls', async () => {
    const [, ...after] = await Promise.all([
      insert('order', 0),
      ...[1, 2, 3].map(() => driver.write("UPDATE things SET n = n + 1 WHERE id = 'order' RETURNING n")),
    ]);
    assert.deepEqual(
      after.map((rows) => rows[0]!.n),
      [1, 2, 3],
    );
  });

  test('a write is on disk when its promise resolves', async () => {
    for (let n = 0; n < 20; n++) {
      await insert(`disk-${n}`);
      const other = new DatabaseSync(path, { readOnly: true });
      assert.ok(other.prepare('SELECT 1 FROM things WHERE id = ?').get(`disk-${n}`));
      other.close();
    }
    assert.deepEqual(await driver.read('PRAGMA synchronous').then((rows) => rows[0]!.synchronous), 2);
    assert.deepEqual(await driver.read('PRAGMA journal_mode').then((rows) => rows[0]!.journal_mode), 'wal');
  });

  test('writes beyond the queue limit are refused, and the queued ones are done', {
    timeout: 120_000,
  }, async () => {
    const results = await settled(Array.from({ length: 20_100 }, (_, n) => insert(`many-${n}`)));
    const refused = results.filter((one) => one instanceof DatabaseUnavailable).length;
    assert.equal(refused, 100);
    assert.equal((await ids('many-%')).length, 20_000);
    await insert('many-after');
  });

  test('while another connection writes, the queue waits and the event loop keeps turning', async () => {
    const other = new DatabaseSync(path);
    try {
      other.exec('BEGIN IMMEDIATE');
      let done = false;
      const writing = insert('waited').then(() => {
        done = true;
      });
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(done, false);
      assert.deepEqual(await ids('waited'), []);
      other.exec('COMMIT');
      await writing;
      assert.deepEqual(await ids('waited'), ['waited']);
    } finally {
      other.close();
    }
  });

  test('a lock held too long is an error after some seconds, and nothing is written', {
    timeout: 60_000,
  }, async () => {
    const other = new DatabaseSync(path);
    try {
      other.exec('BEGIN IMMEDIATE');
      const began = performance.now();
      await assert.rejects(insert('locked-out'), DatabaseUnavailable);
      const waited = performance.now() - began;
      assert.ok(waited > 3_000 && waited < 30_000, `${waited} ms`);
      other.exec('ROLLBACK');
      assert.deepEqual(await ids('locked-out'), []);
      await insert('locked-in');
    } finally {
      other.close();
    }
  });

  test('a file that was moved away takes no write, is not created again, and works again when it is back', async () => {
    await insert('before');
    renameSync(path, parked);
    await assert.rejects(insert('while-gone'), DatabaseUnavailable);
    await assert.rejects(driver.read('SELECT 1 AS one'), DatabaseUnavailable);
    assert.equal(existsSync(path), false);
    renameSync(parked, path);
    await eventuallySucceeds(() => insert('back-again'));
    assert.deepEqual(await ids('before'), ['before']);
    assert.deepEqual(await ids('while-gone'), []);
  });

  test('reads fail soon after the file was moved away', async () => {
    renameSync(path, parked);
    await eventuallySucceeds(() => assert.rejects(driver.read('SELECT 1 AS one'), DatabaseUnavailable));
    renameSync(parked, path);
    await eventuallySucceeds(() => driver.read('SELECT 1 AS one'));
  });
});

test('listeners are called for a change by another connection, not for one’s own', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const folder = newFolder();
  const path = join(folder, 'changes.db');
  const driver = new SqliteDriver(path);
  t.after(async () => {
    await driver.close();
    remove(folder);
  });
  await driver.write('CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY)');
  let calls = 0;
  driver.onExternalChange(() => calls++);
  const other = new DatabaseSync(path);
  other.exec("INSERT INTO things VALUES ('foreign')");
  other.close();
  t.mock.timers.tick(1_000);
  assert.equal(calls, 1);
  await driver.write("INSERT INTO things VALUES ('own')");
  t.mock.timers.tick(1_000);
  assert.equal(calls, 1);
});

test('the write-ahead log shrinks after a long reader', async () => {
  const folder = newFolder();
  const path = join(folder, 'wal.db');
  const driver = new SqliteDriver(path);
  const megabytes = () => statSync(`${path}-wal`).size / 1024 / 1024;
  try {
    await driver.write('CREATE TABLE things (filler TEXT NOT NULL)');
    const fill = () => driver.write('INSERT INTO things VALUES ($1)', ['x'.repeat(1024 * 1024)]);
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec('BEGIN; SELECT count(*) FROM things');
    for (let n = 0; n < 24; n++) await fill();
    assert.ok(megabytes() > 20, `${megabytes()} MB`);
    reader.close();
    for (let n = 0; n < 2; n++) await fill();
    assert.ok(megabytes() < 17, `${megabytes()} MB`);
  } finally {
    await driver.close();
    remove(folder);
  }
});

test('a backup that replaces a running database is used as it is, without data of the other', async () => {
  const folder = newFolder();
  const path = join(folder, 'restored.db');
  const driver = new SqliteDriver(path);
  try {
    await driver.write('CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, filler TEXT NOT NULL)');
    const fill = async (prefix: string, count: number) => {
      for (let n = 0; n < count; n++)
        await driver.write('INSERT INTO things VALUES ($1, $2)', [`${prefix}${n}`, 'x'.repeat(500)]);
    };
    await fill('old-', 50);
    const backup = join(folder, 'backup.db');
    await driver.read(`VACUUM INTO '${backup}'`);
    await fill('new-', 500);
    renameSync(backup, path);

    await eventuallySucceeds(async () => {
      const [row] = await driver.read("SELECT count(*) AS n FROM things WHERE id LIKE 'old-%'");
      assert.equal(row!.n, 50);
      const [later] = await driver.read("SELECT count(*) AS n FROM things WHERE id LIKE 'new-%'");
      assert.equal(later!.n, 0);
    });
    assert.deepEqual(
      (await driver.read('PRAGMA integrity_check')).map((row) => row.integrity_check),
      ['ok'],
    );
  } finally {
    await driver.close();
    remove(folder);
  }
});

/** Opens one new database after the other, each at a time for which all processes wait. */
const OPENER = `
  const { openStore } = await import(process.argv[1]);
  const [, , folder, start, count] = process.argv;
  const applied = [];
  for (let n = 0; n < Number(count); n++) {
    while (Date.now() < Number(start) + 40 * n);
    const store = openStore('sqlite:' + folder + '/' + n + '.db');
    for (const name of await store.migrate()) applied.push(n + ' ' + name);
    await store.close();
  }
  console.log(JSON.stringify(applied));
`;

test('processes that start at the same time create a database once', {
  timeout: 120_000,
}, async () => {
  const folder = newFolder();
  const count = 25;
  try {
    const opener = new URL('../../src/store/store.ts', import.meta.url).href;
    const start = String(Date.now() + 1_000);
    const run = async () => {
      const args = ['--input-type=module', '-e', OPENER, opener, folder, start, String(count)];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
      return JSON.parse(stdout) as string[];
    };
    const applied = (await Promise.all([run(), run(), run()])).flat();
    const names = allMigrations().map(({ name }) => name);
    const each = Array.from({ length: count }, (_, n) => names.map((name) => `${n} ${name}`)).flat();
    assert.deepEqual(applied.sort(), each.sort());
  } finally {
    remove(folder);
  }
});

test('a closed database is one file', async () => {
  const opened = await openSqlite();
  await opened.store.migrate();
  await opened.store.close();
  const folder = opened.url.slice('sqlite:'.length).replace(/\/postern\.db$/, '');
  assert.deepEqual(readdirSync(folder), ['postern.db']);
  await opened.close();
});
