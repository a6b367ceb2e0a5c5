import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { Postern } from '../support/command-line.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const errorOf = (stderr: string): string => (JSON.parse(stderr) as { error: string }).error;

describe('the database of the command line', { concurrency: 2 }, () => {
  test('migrate reports what it applied, and then that the schema is up to date', async (t) => {
    const postern = new Postern(t);
    assert.match((await postern.run(['migrate'])).stdout, /^Applied 001-initial\.$/m);
    assert.equal((await postern.run(['migrate'])).stdout, 'The schema is up to date.\n');
    assert.deepEqual(await postern.json(['migrate']), { applied: [] });
  });

  test('a changed migration and a database of a pre-release are refused with advice, also by doctor', async (t) => {
    const postern = new Postern(t);
    await postern.json(['migrate']);
    const change = (sql: string) => {
      const db = new DatabaseSync(join(postern.dataDir, 'postern.db'));
      db.exec(sql);
      db.close();
    };
    for (const [sql, problem] of [
      ["UPDATE migrations SET checksum = 'changed'", /Migration 001-initial is not the one that was applied/],
      ['ALTER TABLE migrations DROP COLUMN checksum', /pre-release of Postern 0\.1 and cannot be upgraded/],
    ] as const) {
      change(sql);
      for (const command of [['migrate'], ['users', 'list'], ['serve'], ['doctor']]) {
        const { code, stdout, stderr } = await postern.run(command);
        assert.equal(code, 1, command.join(' '));
        assert.match(stdout + stderr, problem, command.join(' '));
      }
    }
  });

  test('a new data folder and its files are accessible to the account alone', async (t) => {
    const postern = new Postern(t);
    const { applied } = await postern.json<{ applied: string[] }>(['migrate']);
    assert.equal(applied[0], '001-initial');
    assert.equal(modeOf(postern.dataDir), 0o700);
    for (const file of readdirSync(postern.dataDir))
      assert.equal(modeOf(join(postern.dataDir, file)), 0o600, file);
  });

  test('several commands that start at the same time without a database all succeed', async (t) => {
    const postern = new Postern(t);
    const emails = ['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com'];
    await Promise.all(
      emails.map((email) =>
        postern.json(['users', 'create', '--email', email, '--name', 'N', '--password', 'correct horse']),
      ),
    );
    const users = await postern.json<{ email: string }[]>(['users', 'list']);
    assert.deepEqual(users.map(({ email }) => email).sort(), emails);
  });

  test('a folder outside the data folder is not created', async (t) => {
    const postern = new Postern(t);
    const elsewhere = join(postern.folder, 'elsewhere');
    const { code, stderr } = await postern.run(['users', 'list'], {
      env: { POSTERN_DATABASE_URL: `sqlite:${elsewhere}/x.db` },
    });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^postern: The database \S+\/elsewhere\/x\.db cannot be used: .*Check that its folder exists/,
    );
    assert.ok(!existsSync(elsewhere) && !existsSync(postern.dataDir));
  });

  test('a file that is not a database, and a data folder that is a file, are explained', async (t) => {
    const postern = new Postern(t);
    const file = join(postern.folder, 'notes.txt');
    writeFileSync(file, 'This is not a database, and long enough to be looked at.\n'.repeat(20));
    const database = await postern.run(['apps', 'list', '--json'], {
      env: { POSTERN_DATABASE_URL: `sqlite:${file}` },
    });
    assert.equal(database.code, 1);
    assert.match(errorOf(database.stderr), /not a database\. .*POSTERN_DATABASE_URL/);
    const folder = await postern.run(['apps', 'list', '--json'], { env: { POSTERN_DATA_DIR: file } });
    assert.equal(folder.code, 1);
    assert.match(errorOf(folder.stderr), /Check POSTERN_DATA_DIR/);
  });

  test('an invalid setting is reported as text, or as JSON with --json', async (t) => {
    const postern = new Postern(t);
    const env = { POSTERN_PORT: 'x' };
    const text = await postern.run(['users', 'list'], { env });
    assert.equal(text.code, 1);
    assert.match(text.stderr, /^postern: 1 problem in the configuration:\n {2}- POSTERN_PORT /);
    const json = await postern.run(['users', 'list', '--json'], { env });
    assert.equal(json.code, 1);
    assert.match(errorOf(json.stderr), /POSTERN_PORT/);
  });
});

describe('the command line itself', { concurrency: 2 }, () => {
  test('a missing option and an unknown command are errors, as text or as JSON', async (t) => {
    const postern = new Postern(t);
    const missing = await postern.run(['users', 'create']);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /required option '--email <email>'.*\n\(add --help/);
    const json = await postern.run(['users', 'create', '--json']);
    assert.equal(json.code, 1);
    assert.match(errorOf(json.stderr), /^required option '--email <email>' not specified$/);
    const unknown = await postern.run(['apps', 'nonsense', '--json']);
    assert.equal(unknown.code, 1);
    assert.match(errorOf(unknown.stderr), /unknown command 'nonsense'/);
  });

  test('help describes every command and changes nothing', async (t) => {
    const postern = new Postern(t);
    const users = await postern.run(['users', '--help']);
    assert.equal(users.code, 0);
    for (const name of ['create', 'list', 'disable', 'enable', 'set-password', 'verify-email']) {
      assert.match(users.stdout, new RegExp(`^  ${name} .*[a-z]`, 'm'));
    }
    const apps = await postern.run(['apps', '--help']);
    for (const name of ['create', 'list', 'show', 'disable', 'enable', 'rotate-secret', 'delete']) {
      assert.match(apps.stdout, new RegExp(`^  ${name} .*[a-z]`, 'm'));
    }
    const create = await postern.run(['apps', 'create', '--help']);
    assert.match(create.stdout, /Example:\n {2}bin\/postern apps create/);
    assert.ok(!existsSync(postern.dataDir));
  });
});
