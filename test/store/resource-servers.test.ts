import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { SqliteDriver } from '../../src/store/drivers/sqlite.ts';
import { allMigrations } from '../../src/store/migrations.ts';
import { SqlResourceServers } from '../../src/store/resource-servers.ts';

/** Counts reads, and lets the test announce a change by another process. */
class CountingDriver extends SqliteDriver {
  reads = 0;
  readonly listeners: (() => void)[] = [];

  override read(...args: Parameters<SqliteDriver['read']>) {
    this.reads++;
    return super.read(...args);
  }

  override onExternalChange(listener: () => void): void {
    this.listeners.push(listener);
  }
}

let folder: string;
let driver: CountingDriver;
let servers: SqlResourceServers;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  driver = new CountingDriver(join(folder, 'test.db'));
  servers = new SqlResourceServers(driver);
  await driver.migrate(allMigrations());
  await servers.create({ id: 'rs_a', name: 'A', secret: 'postern_rs_secret', now: 1 });
});
afterEach(async () => {
  await driver.close();
  rmSync(folder, { recursive: true });
});

test('resource servers are read once and then cached, unknown ids included', async () => {
  driver.reads = 0;
  const found = await Promise.all([servers.find('rs_a'), servers.find('rs_a'), servers.find('rs_b')]);
  assert.deepEqual(
    found.map((one) => one?.name),
    ['A', 'A', undefined],
  );
  assert.equal(found[0]?.secretTail, 'cret');
  assert.equal(driver.reads, 1);
});

test('a change by this process or another is seen', async () => {
  const elsewhere = new SqlResourceServers(driver);
  assert.ok(await elsewhere.find('rs_a'));
  assert.equal(await servers.delete('rs_a'), true);
  assert.equal(await servers.delete('rs_a'), false);
  assert.equal(await servers.find('rs_a'), undefined);
  assert.ok(await elsewhere.find('rs_a'), 'cached until it is notified');
  for (const listener of driver.listeners) listener();
  assert.equal(await elsewhere.find('rs_a'), undefined);
});

test('a failed read is not cached', async () => {
  const other = new SqlResourceServers(driver);
  const { list } = other;
  other.list = () => Promise.reject(new Error('gone'));
  await assert.rejects(other.find('rs_a'), /gone/);
  other.list = list;
  assert.ok(await other.find('rs_a'));
});
