import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { openDriver } from '../../../src/store/drivers/open-driver.ts';
import { allMigrations, SchemaMismatch } from '../../../src/store/migrations.ts';
import type { Opened } from './fixtures.ts';

const migration = (name: string, sql: string) => ({ name, sql, checksum: hash('sha256', sql) });

const NEXT = migration('999-next', 'CREATE TABLE next (id TEXT NOT NULL PRIMARY KEY)');

/** Uses the driver, which takes the migrations as an argument. */
export function migrationContract(open: () => Promise<Opened>): void {
  async function withDriver(work: (driver: ReturnType<typeof openDriver>) => Promise<void>): Promise<void> {
    const { url, close } = await open();
    const driver = openDriver(url);
    try {
      await work(driver);
    } finally {
      await driver.close();
      await close();
    }
  }
  const tableExists = (driver: ReturnType<typeof openDriver>, name: string) =>
    driver.read(`SELECT 1 AS found FROM ${name} LIMIT 1`).then(
      () => true,
      () => false,
    );

  test('each migration is recorded with its checksum', () =>
    withDriver(async (driver) => {
      await driver.migrate([...allMigrations(), NEXT]);
      const rows = await driver.read('SELECT name, checksum FROM migrations ORDER BY name');
      assert.deepEqual(
        rows.map(({ name, checksum }) => [name, checksum]),
        [...allMigrations(), NEXT].map(({ name, checksum }) => [name, checksum]),
      );
      for (const { checksum } of rows) assert.match(String(checksum), /^[0-9a-f]{64}$/);
    }));

  test('an applied migration of which one byte changed is refused by name, and nothing is changed', () =>
    withDriver(async (driver) => {
      const [first, ...later] = allMigrations();
      await driver.migrate([first!, ...later]);
      const before = await driver.read('SELECT * FROM migrations ORDER BY name');
      const changed = migration(first!.name, first!.sql.replace('milliseconds', 'Milliseconds'));
      await assert.rejects(driver.migrate([changed, ...later, NEXT]), (error: Error) => {
        assert.ok(error instanceof SchemaMismatch);
        assert.match(error.message, /^Migration 001-initial is not the one that was applied/);
        return true;
      });
      assert.deepEqual(await driver.read('SELECT * FROM migrations ORDER BY name'), before);
      assert.equal(await tableExists(driver, 'next'), false);
      assert.deepEqual(await driver.migrate([first!, ...later, NEXT]), [NEXT.name]);
    }));

  test('a database of a pre-release is refused, and nothing is changed', () =>
    withDriver(async (driver) => {
      await driver.write(
        'CREATE TABLE migrations (name TEXT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)',
      );
      await driver.write(
        "INSERT INTO migrations (name, applied_at) VALUES ('001-initial', 1), ('002-accounts', 2)",
      );
      await assert.rejects(driver.migrate(allMigrations()), (error: Error) => {
        assert.ok(error instanceof SchemaMismatch);
        assert.match(error.message, /pre-release of Postern 0\.1 and cannot be upgraded\. Use a new, empty/);
        return true;
      });
      assert.equal((await driver.read('SELECT * FROM migrations')).length, 2);
      assert.equal(await tableExists(driver, 'users'), false);
    }));

  test('a migration that fails leaves nothing behind, and those before it stay', () =>
    withDriver(async (driver) => {
      const broken = migration('999-broken', `${NEXT.sql}; CREATE TABLE nonsense (`);
      await assert.rejects(driver.migrate([...allMigrations(), broken]), /migration 999-broken failed/);
      assert.deepEqual(
        [await tableExists(driver, 'users'), await tableExists(driver, 'next')],
        [true, false],
      );
      assert.deepEqual(await driver.migrate([...allMigrations(), NEXT]), [NEXT.name]);
    }));

  test('a migration of a newer version is left alone', () =>
    withDriver(async (driver) => {
      await driver.migrate([...allMigrations(), NEXT]);
      assert.deepEqual(await driver.migrate(allMigrations()), []);
    }));
}
