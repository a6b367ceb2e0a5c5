import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { Keyring } from '../../src/keys/keyring.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { PENDING_MS } from '../../src/protocol/key-schedule.ts';
import { openStore } from '../../src/store/store.ts';
import { Postern, ROOT } from '../support/command-line.ts';
import { eventually } from '../support/eventually.ts';
import { query } from '../support/postgres-database.ts';
import { freePort, TestPostgres } from '../support/postgres-server.ts';
import { DAY, Service, type TestClient, type Tokens } from '../support/service.ts';
import { issueCode } from './load.ts';

const SECRET = 'kR7vQ2mX9pL4tY8wB3nF6hJ1sD5gA0zC';
let server: TestPostgres;
before(async () => {
  server = await TestPostgres.start();
});
after(() => server.stop());

async function connect(service: Service): Promise<{ client: TestClient; tokens: Tokens }> {
  const client = await service.createClient();
  const user = await service.createUser();
  const reply = await service.exchange(client, await issueCode(service, client, user.id));
  return { client, tokens: reply.body as Tokens };
}

async function renewed(service: Service, client: TestClient, token: string): Promise<Tokens> {
  const reply = await service.refresh(client, token);
  assert.equal(reply.status, 200, reply.text);
  return reply.body as Tokens;
}

describe('bin/postern transfer', () => {
  test('copies everything, and tokens keep working', async (t) => {
    const postern = new Postern(t);
    const from = `sqlite:${join(postern.folder, 'old.db')}`;
    const settings = { POSTERN_SECRET: SECRET };
    const old = await Service.start({ ...settings, POSTERN_DATABASE_URL: from });
    const { client, tokens } = await connect(old);
    const second = await renewed(old, client, tokens.refresh_token);
    await old.stop();

    const to = await server.createDatabase();
    const args = ['transfer', '--from', from, '--to', to];
    const done = await postern.run(args, { env: settings });
    assert.equal(done.code, 0, done.stderr);
    await checkMoved(to, client, second);

    const other = await postern.run(args, { env: { POSTERN_SECRET: `another ${SECRET}` } });
    assert.equal(other.code, 1);
    assert.match(other.stderr, /Nothing was transferred: .* signed with another secret/);
  });

  async function checkMoved(to: string, client: TestClient, tokens: Tokens): Promise<void> {
    const service = await Service.start({ POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: to });
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
    const third = await renewed(service, client, tokens.refresh_token);
    const reuse = await service.refresh(client, tokens.refresh_token);
    assert.match(String(reuse.body.error_description), /already used/);
    assert.equal((await service.userinfo(third.access_token)).status, 401);
    await service.stop();
  }

  test('copies all or nothing, and refuses a target that is in use', async (t) => {
    const postern = new Postern(t);
    await postern.withStoreReady(async (store) => {
      await store.users.create({
        id: 'an id',
        email: 'ada@example.com',
        emailVerified: true,
        name: 'Ada "the first" \\ {Lovelace}, 愛',
        passwordHash: 'none',
        now: 1,
      });
    });
    const to = await server.createDatabase();
    const env = { POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: to };
    const { tables } = await postern.json<{ tables: { table: string; rows: number }[] }>(['transfer'], {
      env,
    });
    assert.equal(tables.find(({ table }) => table === 'users')?.rows, 1);
    const [user] = await query(to, 'SELECT name, disabled_at, created_at FROM users');
    assert.deepEqual(user, { name: 'Ada "the first" \\ {Lovelace}, 愛', disabled_at: null, created_at: '1' });

    const again = await postern.run(['transfer'], { env });
    assert.equal(again.code, 1);
    assert.match(again.stderr, /the table \w+ of the target is not empty/);
    assert.equal((await query(to, 'SELECT * FROM users')).length, 1);
  });

  test('reports invalid addresses', async (t) => {
    const { code, stderr } = await new Postern(t).run([
      'transfer',
      '--from',
      'sqlite:/nowhere.db',
      '--to',
      'x',
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /There is no file \/nowhere\.db\./);
    assert.match(stderr, /--to must be postgres:/);
  });
});

describe('a database restored from an older backup', () => {
  test('revokes a grant when a token is newer than its row', async () => {
    const { backup, client, first, last } = await restoredDatabase();
    const restored = await Service.start({ POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: backup });
    const ahead = await restored.refresh(client, last.refresh_token);
    assert.deepEqual([ahead.status, ahead.body.error], [400, 'invalid_grant']);
    assert.ok(restored.logged.some((line) => line.includes('bin/postern restored')));
    // Consumed after the backup, live in it, and refused now.
    assert.equal((await restored.refresh(client, first.refresh_token)).status, 400);
    assert.equal((await restored.userinfo(first.access_token)).status, 401);
    const [row] = await query(backup, 'SELECT revoked_reason FROM grants');
    assert.equal(row?.revoked_reason, 'database_restored');
    await restored.stop();
  });

  test('is made safe by bin/postern restored: every grant and session ends', async (t) => {
    const { backup, client, first } = await restoredDatabase();
    const postern = new Postern(t);
    const env = { POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: backup };
    const refused = await postern.run(['restored'], { env });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Nothing was changed.*add --yes/);
    assert.deepEqual(await postern.json(['restored', '--yes'], { env }), {
      grants: 1,
      sessions: 0,
      mail_links: 0,
    });
    const restored = await Service.start({ POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: backup });
    assert.equal((await restored.refresh(client, first.refresh_token)).status, 400);
    await restored.stop();
  });

  /** A copy of the database from when `first` was live; meanwhile the grant was rotated up to `last`. */
  async function restoredDatabase() {
    const database = await server.createDatabase();
    const settings = { POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: database };
    const before = await Service.start(settings);
    const { client, tokens: first } = await connect(before);
    await before.stop();
    const name = new URL(database).pathname.slice(1);
    await query(server.url(), `CREATE DATABASE ${name}_backup TEMPLATE ${name}`);
    const later = await Service.start(settings);
    const second = await renewed(later, client, first.refresh_token);
    const last = await renewed(later, client, second.refresh_token);
    await later.stop();
    return { backup: `${database}_backup`, client, first, last };
  }
});

describe('bin/postern keys', () => {
  test('rotate: nodes verify with a new key before any signs with it, and with the old one until its last token expired', async (t) => {
    const url = await server.createDatabase();
    const postern = new Postern(t);
    const env = { POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: url };
    const store = openStore(url, { connections: 1 });
    await store.migrate();
    const [a, b] = [new Keyring(SECRET, 30 * DAY), new Keyring(SECRET, 30 * DAY)];
    const ref = { userId: newId(), grantId: newId(), generation: 1 };
    const old = a.tokenSigner.signRefreshToken(ref);

    assert.deepEqual(await postern.json(['keys', 'rotate'], { env }), { number: 2 });
    const now = Date.now();
    await Promise.all([a.reload(store.signingKeys, now), b.reload(store.signingKeys, now)]);
    assert.equal(a.tokenSigner.signRefreshToken(ref), old, 'the first key still signs');
    await a.reload(store.signingKeys, now + PENDING_MS);
    const fresh = a.tokenSigner.signRefreshToken(ref);
    assert.notEqual(fresh, old);
    assert.deepEqual(
      b.tokenSigner.verifyRefreshToken(fresh),
      ref,
      'a node that does not yet sign with it verifies it',
    );
    assert.deepEqual(a.tokenSigner.verifyRefreshToken(old), ref);
    await a.reload(store.signingKeys, now + 31 * DAY);
    assert.equal(a.tokenSigner.verifyRefreshToken(old), undefined, 'everything it signed has expired');

    const keys = await postern.json<{ number: number; state: string }[]>(['keys', 'list'], { env });
    assert.deepEqual(
      keys.map(({ number, state }) => [number, state]),
      [
        [1, 'signing'],
        [2, 'pending'],
      ],
    );
    await store.close();
  });

  test('a node with another secret does not start, until it is adopted', async (t) => {
    const postern = new Postern(t);
    const POSTERN_DATABASE_URL = await server.createDatabase();
    await postern.json(['keys', 'rotate'], { env: { POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL } });
    const env = { POSTERN_SECRET: `another ${SECRET}`, POSTERN_DATABASE_URL };
    const refused = await postern.run(['serve'], { env });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /belongs to another secret/);
    assert.equal((await postern.run(['keys', 'adopt-secret'], { env })).code, 1);
    assert.deepEqual(await postern.json(['keys', 'adopt-secret', '--yes'], { env }), { adopted: true });
    assert.deepEqual(await postern.json(['keys', 'rotate'], { env }), { number: 3 });
  });
});

describe('bin/postern doctor', () => {
  type Finding = { level: string; what: string };
  const faults = (findings: readonly Finding[]) =>
    findings.filter(({ level }) => level === 'fault').map(({ what }) => what);

  test('reports the problems of a PostgreSQL database and its secret', async (t) => {
    const postern = new Postern(t);
    const env = { POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: await server.createDatabase() };
    await postern.json(['keys', 'rotate'], { env });
    const { stdout } = await postern.run(['doctor', '--json'], { env });
    // The test server runs without fsync, which doctor must report.
    assert.deepEqual(faults(JSON.parse(stdout)), ['fsync is off.']);
    assert.match(stdout, /PostgreSQL 1\d/);
    assert.match(stdout, /clocks of this machine and the database agree/);

    const other = await postern.run(['doctor'], { env: { ...env, POSTERN_SECRET: 'a'.repeat(40) } });
    assert.equal(other.code, 1);
    assert.match(other.stdout, /FAULT +The secret does not look random/);
    assert.match(other.stdout, /FAULT +The database belongs to another secret/);
  });

  test('reports an unreachable database, and files that others can read', async (t) => {
    const postern = new Postern(t);
    const nowhere = `postgres://nobody@127.0.0.1:${await freePort()}/nothing`;
    const gone = await postern.run(['doctor'], {
      env: { POSTERN_SECRET: SECRET, POSTERN_DATABASE_URL: nowhere },
    });
    assert.equal(gone.code, 1);
    assert.match(
      gone.stdout,
      /FAULT +The database behind POSTERN_DATABASE_URL cannot be used:.*ECONNREFUSED/,
    );
    await postern.withStoreReady(async () => {});
    chmodSync(postern.dataDir, 0o755);
    const open = await postern.run(['doctor', '--json']);
    assert.deepEqual(faults(JSON.parse(open.stdout))[0], `Other accounts have access to ${postern.dataDir}.`);
  });
});

describe('bin/postern serve --workers', () => {
  test('serves with all workers, replaces one that dies, and stops them all', {
    timeout: 60_000,
  }, async (t) => {
    const { child, stderr, port } = await startWorkers(t, await server.createDatabase());
    const health = () => fetch(`http://127.0.0.1:${port}/health`).then(({ status }) => status);
    assert.equal(await health(), 200);
    const workers = childrenOf(child.pid!);
    assert.equal(workers.length, 2);
    process.kill(workers[0]!, 'SIGKILL');
    await eventually(
      () => stderr().includes(`Worker ${workers[0]} exited (SIGKILL)`) && childrenOf(child.pid!).length === 2,
    );
    assert.equal(await health(), 200);
    const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
  });

  test('is refused with SQLite, with an explanation', async (t) => {
    const { code, stderr } = await new Postern(t).run(['serve', '--workers', '2']);
    assert.equal(code, 1);
    assert.match(stderr, /Several workers need PostgreSQL/);
  });

  async function startWorkers(t: TestContext, database: string) {
    const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
    const port = await freePort();
    const env = {
      ...process.env,
      POSTERN_DATA_DIR: folder,
      POSTERN_PORT: String(port),
      POSTERN_DATABASE_URL: database,
      POSTERN_SECRET: SECRET,
      POSTERN_LOG_LEVEL: 'silent',
    };
    const child: ChildProcess = spawn(join(ROOT, 'bin/postern'), ['serve', '--workers', '2'], { env });
    t.after(() => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });
    let text = '';
    child.stderr!.on('data', (bytes) => {
      text += bytes;
    });
    await eventually(() => text.includes('Postern listens'));
    return { child, stderr: () => text, port };
  }
});

const childrenOf = (pid: number): number[] => {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  return pairs.filter(([, parent]) => parent === pid).map(([child]) => child!);
};

test('a missing POSTERN_SECRET and an invalid database URL are reported together', async (t) => {
  const postern = new Postern(t);
  const missing = await postern.run(['serve'], { env: { POSTERN_DATABASE_URL: server.url() } });
  assert.equal(missing.code, 1);
  assert.match(
    missing.stderr,
    /POSTERN_SECRET is missing\. With PostgreSQL every node needs the same secret/,
  );
  const env = { POSTERN_DATABASE_URL: 'mysql://user:hunter2@host/db', POSTERN_DATABASE_CONNECTIONS: '0' };
  const wrong = await postern.run(['serve'], { env });
  assert.match(wrong.stderr, /POSTERN_DATABASE_URL must be sqlite:PATH or postgres:/);
  assert.match(wrong.stderr, /POSTERN_DATABASE_CONNECTIONS must be a whole number from 1 to 1000/);
  assert.doesNotMatch(wrong.stderr, /hunter2/);
});
