import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import {
  Command,
  endAll,
  freePort,
  newFolder,
  PosternProcess,
  removeFolder,
} from '../support/postern-process.ts';
import { type PreparedData, withPostern } from '../support/prepared-data.ts';
import { refreshForm } from '../support/service.ts';

/** Each test mostly waits for a process of its own. */
const CONCURRENT = { concurrency: 4, timeout: 180_000 };

after(endAll);

const permissions = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('starting', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });
  afterEach(() => removeFolder(folder));

  test('the first start creates the data folder and the secret, prints both places and the next step', async () => {
    const data = join(folder, 'not', 'there', 'yet');
    const settings = { POSTERN_DATA_DIR: data };
    const first = await PosternProcess.start(settings);
    const key = readFileSync(join(data, 'secret'), 'utf8');
    assert.equal((await first.get('/health')).status, 200);
    const { code, stdout, stderr } = await first.stop();
    assert.equal(code, 0);
    assert.equal(permissions(data), '700');
    for (const file of ['secret', 'postern.db']) assert.equal(permissions(join(data, file)), '600');
    assert.ok(Buffer.byteLength(key.trim()) >= 32);
    assert.match(stderr, new RegExp(`http://\\S+:${first.port}\\b`));
    assert.ok(stderr.includes(data));
    assert.match(stderr, /bin\/postern users create/);
    assert.match(stderr, /A new key was created/);
    assert.ok(!(stdout + stderr).includes(key.trim()));

    const second = await PosternProcess.start(settings);
    const ended = await second.stop();
    assert.equal(readFileSync(join(data, 'secret'), 'utf8'), key);
    assert.doesNotMatch(ended.stderr, /A new key was created/);
  });

  test('a port in use is reported with the setting that changes it', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    try {
      const { port } = taken.address() as AddressInfo;
      const settings = { POSTERN_DATA_DIR: folder, POSTERN_PORT: String(port) };
      const { code, stderr } = await new Command(['serve'], settings).end();
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port} is in use`));
      assert.match(stderr, /POSTERN_PORT/);
      assert.doesNotMatch(stderr, /^\s+at /m);
    } finally {
      taken.close();
    }
  });

  test('all invalid settings are reported at once, before anything is created, without repeating a secret', async () => {
    const data = join(folder, 'data');
    const settings = {
      POSTERN_DATA_DIR: data,
      POSTERN_PORT: '99999',
      POSTERN_BASE_URL: 'ftp://nowhere/',
      POSTERN_SECRET: 'swordfish',
      POSTERN_DATABASE_URL: 'mysql://root:hunter2@localhost/x',
      POSTERN_CODE_TTL: '-1',
      POSTERN_RATE_LIMIT: 'many',
      POSTERN_TRUST_PROXY: 'perhaps',
      POSTERN_LOG_LEVEL: 'loud',
    };
    const { code, stdout, stderr } = await new Command(['serve'], settings).end();
    assert.equal(code, 1);
    assert.equal(stdout, '');
    const { POSTERN_DATA_DIR, ...faulty } = settings;
    for (const name of Object.keys(faulty)) assert.match(stderr, new RegExp(`${name} must`));
    assert.doesNotMatch(stderr, /swordfish|hunter2|^\s+at /m);
    assert.equal(existsSync(data), false);
  });
});

describe('stopping', CONCURRENT, () => {
  test('a request in progress gets its response, its effect is durable, and the process exits right after', () =>
    withPostern(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const started = await partialRefresh(postern, prepared, tokens!.refresh_token);
      postern.command.child.kill('SIGTERM');
      await eventually(() => refusesConnections(postern));
      started.finish();
      const text = await started.response;
      const respondedAt = performance.now();
      assert.match(text, /^HTTP\/1\.1 200 /m);
      // The client keeps its connection open, as most do.
      const { code, stdout } = await postern.command.end();
      const took = performance.now() - respondedAt;
      assert.equal(code, 0);
      assert.match(stdout, /"path":"\/oauth\/token","status":200/);
      assert.ok(took < 6_000, `exited ${Math.round(took)} ms after the last response`);

      const refreshed = JSON.parse(text.slice(text.indexOf('{'))) as { refresh_token: string };
      const again = await PosternProcess.start(prepared.settings);
      try {
        assert.equal((await again.refresh(prepared.client, refreshed.refresh_token)).status, 200);
      } finally {
        await again.kill();
      }
    }));

  test('a request that never completes delays the exit by a few seconds at most', () =>
    withPostern(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const { socket } = await partialRefresh(postern, prepared, tokens!.refresh_token);
      const { code } = await postern.stop();
      socket.destroy();
      assert.equal(code, 0);
    }));

  test('idle connections do not delay the exit', () =>
    withPostern(async (_, postern) => {
      const agent = new Agent({ keepAlive: true });
      const getHealth = () =>
        new Promise<void>((resolve, reject) => {
          const outgoing = request(`${postern.url}/health`, { agent }, (response) => {
            response.resume().on('end', resolve);
          });
          outgoing.on('error', reject).end();
        });
      await Promise.all([getHealth(), getHealth(), getHealth()]);
      const silent = connect(postern.port, '127.0.0.1');
      await once(
        silent.on('error', () => {}),
        'connect',
      );
      const began = performance.now();
      const { code } = await postern.stop();
      const took = performance.now() - began;
      agent.destroy();
      silent.destroy();
      assert.equal(code, 0);
      assert.ok(took < 6_000, `it took ${Math.round(took)} ms`);
    }));

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} ends it with exit code 0 from the moment it reports that it listens`, () =>
      withPostern(async (_, postern) => {
        postern.command.child.kill(signal);
        assert.equal((await postern.command.end()).code, 0);
      }));
  }
});

/** A refresh request whose head has arrived and whose body is incomplete. */
async function partialRefresh(postern: PosternProcess, prepared: PreparedData, refreshToken: string) {
  const body = new URLSearchParams(refreshForm(prepared.client, refreshToken)).toString();
  const socket = connect(postern.port, '127.0.0.1');
  let text = '';
  const arrived = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text)) await once(socket, 'part');
    return text;
  };
  socket.setEncoding('utf8').on('error', () => {});
  socket.on('data', (part: string) => {
    text += part;
    socket.emit('part');
  });
  socket.write(
    `POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
      `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  await arrived(/^HTTP\/1\.1 100 /);
  socket.write(body.slice(0, 10));
  const response = arrived(/\{.*\}/);
  return { socket, response, finish: () => socket.write(body.slice(10)) };
}

const refusesConnections = (postern: PosternProcess): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(postern.port, '127.0.0.1');
    probe.on('error', () => resolve(true));
    probe.on('connect', () => {
      probe.destroy();
      resolve(false);
    });
  });
test('POSTERN_BASE_URL is printed on start', async () => {
  const folder = newFolder();
  const port = await freePort();
  const settings = {
    POSTERN_DATA_DIR: folder,
    POSTERN_PORT: String(port),
    POSTERN_BASE_URL: 'https://id.example',
  };
  const postern = await PosternProcess.start(settings);
  try {
    assert.match(postern.command.stderr, /https:\/\/id\.example/);
  } finally {
    await postern.kill();
    removeFolder(folder);
  }
});
