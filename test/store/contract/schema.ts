import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { allMigrations } from '../../../src/store/migrations.ts';
import { createUser, newGrant, newUser, type Opened } from './fixtures.ts';

const POSTERN = new URL('../../../bin/postern', import.meta.url).pathname;

export function schemaContract(open: () => Promise<Opened>): void {
  const names = allMigrations().map(({ name }) => name);

  test('the schema is applied once', async () => {
    const { store, close } = await open();
    try {
      assert.deepEqual(await store.migrate(), names);
      assert.deepEqual(await store.migrate(), []);
      await createUser(store);
      assert.deepEqual(await store.migrate(), []);
      assert.equal((await store.users.list()).length, 1);
    } finally {
      await close();
    }
  });

  test('processes that start at the same time apply each migration once', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
    const { store, url, close } = await open();
    try {
      const env = {
        PATH: process.env.PATH,
        POSTERN_DATABASE_URL: url,
        POSTERN_DATA_DIR: folder,
        POSTERN_SECRET: 'a secret for tests that is long enough',
      };
      const run = promisify(execFile);
      const migrate = async () => {
        const { stdout } = await run(POSTERN, ['migrate', '--json'], { env, timeout: 60_000 });
        return (JSON.parse(stdout) as { applied: string[] }).applied;
      };
      const applied = await Promise.all([migrate(), migrate(), migrate(), migrate()]);
      assert.deepEqual(applied.flat().sort(), names);
      assert.deepEqual(await store.migrate(), []);
      await createUser(store);
    } finally {
      await close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('the store works while it is open and refuses everything after close', async () => {
    const { store, close } = await open();
    await store.migrate();
    await store.checkWritable();
    const userId = await createUser(store);
    await close();
    await assert.rejects(store.checkWritable());
    await assert.rejects(store.users.find(userId));
    await assert.rejects(store.grants.create(newGrant(userId)));
  });

  test('close waits for pending writes', async () => {
    const { store, another, close } = await open();
    await store.migrate();
    const other = await another();
    try {
      const users = Array.from({ length: 100 }, () => newUser());
      const writes = Promise.all(users.map((user) => store.users.create(user)));
      await store.close();
      assert.ok((await writes).every((outcome) => outcome === 'created'));
      assert.equal((await other.users.list()).length, users.length);
    } finally {
      await other.close();
      await close();
    }
  });
}
