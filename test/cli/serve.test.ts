import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { PosternServer } from '../../src/http/server.ts';
import {
  Command,
  endAll,
  eventually,
  freePort,
  newFolder,
  Postern,
  Prepared,
  removeFolder,
} from '../support/postern-process.ts';
import { refreshForm, Service, Visitor } from '../support/service.ts';

/** Most of these tests wait most of the time, each for a service of its own. */
const ATONCE = { concurrency: 4, timeout: 180_000 };

/** A service of the test's own, with a user and an application in it. */
async function inService(work: (prepared: Prepared, postern: Postern) => Promise<void>): Promise<void> {
  const folder = newFolder();
  let postern: Postern | undefined;
  try {
    const prepared = await Prepared.in(folder);
    postern = await Postern.start(prepared.settings);
    await work(prepared, postern);
  } finally {
    await postern?.kill();
    removeFolder(folder);
  }
}

after(endAll);

const permissions = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('starting', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });
  afterEach(() => removeFolder(folder));

  test('the first start makes the data folder and the key, and says where it is and what is next', async () => {
    const data = join(folder, 'not', 'there', 'yet');
    const settings = { POSTERN_DATA_DIR: data };
    const first = await Postern.start(settings);
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
    assert.match(stderr, /key was made/);
    assert.ok(!(stdout + stderr).includes(key.trim()));

    const second = await Postern.start(settings);
    const ended = await second.stop();
    assert.equal(readFileSync(join(data, 'secret'), 'utf8'), key);
    assert.doesNotMatch(ended.stderr, /key was made/);
  });

  test('a port in use is explained', async () => {
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

  test('all faults of the settings are told at once, before anything is made, and no secret is repeated', async () => {
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

describe('stopping', ATONCE, () => {
  test('a request under way is answered, its effect is kept, and the end comes right after', () =>
    inService(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const started = await underWay(postern, prepared, tokens!.refresh_token);
      postern.command.child.kill('SIGTERM');
      await eventually(() => refusesConnections(postern));
      started.finish();
      const text = await started.answer;
      const answeredAt = performance.now();
      assert.match(text, /^HTTP\/1\.1 200 /m);
      // The client keeps its connection, as most do.
      const { code, stdout } = await postern.command.end();
      const took = performance.now() - answeredAt;
      assert.equal(code, 0);
      assert.match(stdout, /"path":"\/oauth\/token","status":200/);
      assert.ok(took < 6_000, `it went on for ${Math.round(took)} ms after the last answer`);

      const refreshed = JSON.parse(text.slice(text.indexOf('{'))) as { refresh_token: string };
      const again = await Postern.start(prepared.settings);
      try {
        assert.equal((await again.refresh(prepared.client, refreshed.refresh_token)).status, 200);
      } finally {
        await again.kill();
      }
    }));

  test('a request that never comes to its end holds it up for some seconds only', () =>
    inService(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const { socket } = await underWay(postern, prepared, tokens!.refresh_token);
      const { code } = await postern.stop();
      socket.destroy();
      assert.equal(code, 0);
    }));

  test('idle connections do not hold it up', () =>
    inService(async (_, postern) => {
      const agent = new Agent({ keepAlive: true });
      const ask = () =>
        new Promise<void>((resolve, reject) => {
          const asked = request(`${postern.url}/health`, { agent }, (response) => {
            response.resume().on('end', resolve);
          });
          asked.on('error', reject).end();
        });
      await Promise.all([ask(), ask(), ask()]);
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
    test(`${signal} ends it well from the moment it says that it listens`, () =>
      inService(async (_, postern) => {
        postern.command.child.kill(signal);
        assert.equal((await postern.command.end()).code, 0);
      }));
  }
});

/** A refresh of which the service has the head and waits for the rest of the body. */
async function underWay(postern: Postern, prepared: Prepared, refreshToken: string) {
  const body = new URLSearchParams(refreshForm(prepared.client, refreshToken)).toString();
  const socket = connect(postern.port, '127.0.0.1');
  let text = '';
  const arrived = async (what: RegExp): Promise<string> => {
    while (!what.test(text)) await once(socket, 'part');
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
  const answer = arrived(/\{.*\}/);
  return { socket, answer, finish: () => socket.write(body.slice(10)) };
}

const refusesConnections = (postern: Postern): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(postern.port, '127.0.0.1');
    probe.on('error', () => resolve(true));
    probe.on('connect', () => {
      probe.destroy();
      resolve(false);
    });
  });

describe('slow peers', () => {
  /** The settings' own times are long; the same server with short ones shows that it keeps to them. */
  test('a peer that sends its head or its body too slowly is cut off when its time is over', {
    timeout: 60_000,
  }, async () => {
    const service = await Service.start();
    const server = new PosternServer(service.app);
    try {
      const { headersTimeout, requestTimeout, keepAliveTimeout } = server.http;
      for (const limit of [headersTimeout, requestTimeout, keepAliveTimeout])
        assert.ok(limit > 0 && limit <= 60_000);
      assert.ok(headersTimeout <= requestTimeout);
      server.http.headersTimeout = 100;
      server.http.requestTimeout = 200;
      await server.listen('127.0.0.1', 0);
      const { port } = server;
      const cutOff = async (text: string) => {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {}).resume();
        socket.write(text);
        const began = performance.now();
        await once(socket, 'close');
        return performance.now() - began;
      };
      const took = await Promise.all([
        cutOff('GET /health HTTP/1.1\r\nHost: postern\r\nX-Slow: '),
        cutOff('POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Length: 100\r\n\r\ngrant_type='),
      ]);
      for (const ms of took) assert.ok(ms < 10_000, `the connection was held for ${Math.round(ms)} ms`);
    } finally {
      await server.close();
      await service.stop();
    }
  });

  test('a peer that keeps its half open, or goes on sending, is hung up on', {
    timeout: 60_000,
  }, async () => {
    const service = await Service.start();
    const server = new PosternServer(service.app);
    server.http.headersTimeout = 100;
    server.http.requestTimeout = 200;
    await server.listen('127.0.0.1', 0);
    const silent = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    const endless = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    const sending = setInterval(() => endless.write('x'.repeat(1000)), 20);
    try {
      silent.on('error', () => {}).resume();
      endless.on('error', () => {}).resume();
      endless.write('POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Length: 100000000\r\n\r\n');
      const connections = () =>
        new Promise<number>((resolve) => server.http.getConnections((_, count) => resolve(count)));
      await eventually(async () => (await connections()) === 2);
      await eventually(async () => (await connections()) === 0);
    } finally {
      clearInterval(sending);
      silent.destroy();
      endless.destroy();
      await server.close();
      await service.stop();
    }
  });

  test('a request that comes while the service stops is answered, and its connection with it', async () => {
    const service = await Service.start();
    const server = new PosternServer(service.app);
    await server.listen('127.0.0.1', 0);
    const socket = connect(server.port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    try {
      socket.write('POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Length: 2\r\n\r\nx');
      await once(server.http, 'request');
      const closed = server.close();
      socket.write('x');
      await once(socket, 'end');
      await closed;
      assert.match(answer, /^HTTP\/1.1 400 Bad Request\r\n/);
      assert.match(answer, /\r\nconnection: close\r\n/i);
    } finally {
      socket.destroy();
      await service.stop();
    }
  });

  test('an address given whole is taken for its path', async () => {
    const service = await Service.start();
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    try {
      socket.setEncoding('utf8');
      for (const url of ['http://postern.example/health', 'HTTP://postern.example:80/health?x=1']) {
        socket.write(`GET ${url} HTTP/1.1\r\nHost: postern\r\n\r\n`);
        const [answer] = (await once(socket, 'data')) as [string];
        assert.match(answer, /^HTTP\/1.1 200 OK\r\n/);
      }
    } finally {
      socket.destroy();
      await service.stop();
    }
  });

  test('a peer that never fetches its answers is cut off', { timeout: 60_000 }, async () => {
    const service = await Service.start();
    const server = new PosternServer(service.app);
    server.http.requestTimeout = 200;
    await server.listen('127.0.0.1', 0);
    const socket = connect(server.port, '127.0.0.1');
    try {
      socket.on('error', () => {}).pause();
      socket.write('GET /openapi.json HTTP/1.1\r\nHost: postern\r\n\r\n'.repeat(1000));
      const connections = () =>
        new Promise<number>((resolve) => server.http.getConnections((_, count) => resolve(count)));
      await eventually(async () => (await connections()) === 1);
      await eventually(async () => (await connections()) === 0);
    } finally {
      socket.destroy();
      await server.close();
      await service.stop();
    }
  });

  test('a slow peer does not keep others waiting', async () => {
    const service = await Service.start();
    const sockets: Socket[] = [];
    try {
      const { port } = new URL(service.url);
      for (let n = 0; n < 200; n++) {
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('error', () => {});
        socket.write('POST /oauth/token HTTP/1.1\r\nHost: postern\r\nContent-Le');
        sockets.push(socket);
      }
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      assert.equal((await service.get('/health')).status, 200);
    } finally {
      for (const socket of sockets) socket.destroy();
      await service.stop();
    }
  });
});

describe('a database in trouble', ATONCE, () => {
  const fails = ({ status, body }: { status: number; body: Record<string, unknown> }) =>
    assert.deepEqual([status, body.error], [500, 'server_error']);

  test('gone: everything is refused, nothing is promised, and it works again when it is back', () =>
    inService(async (prepared, postern) => {
      const [first, second, revoked] = await prepared.tokens(3);
      const [code] = await prepared.codes(1);
      const { client, databasePath } = prepared;
      const parked = `${databasePath}.parked`;
      assert.equal((await postern.revoke(client, revoked!.refresh_token)).status, 200);
      assert.equal((await postern.userinfo(first!.access_token)).status, 200);

      renameSync(databasePath, parked);
      fails(await postern.refresh(client, first!.refresh_token));
      fails(await postern.revoke(client, second!.refresh_token));
      fails(await postern.revoke(client, second!.access_token));
      fails(await postern.exchange(client, code!));
      // Reads stop within moments too, and until then a revoked token is as revoked as before.
      assert.notEqual((await postern.userinfo(revoked!.access_token)).status, 200);
      await eventually(async () => (await postern.get('/health')).status === 503);
      fails(await postern.userinfo(first!.access_token));
      fails(await postern.userinfo(revoked!.access_token));
      // A client it has not met, so that the application cannot come from memory.
      const stranger = { client_id: 'app_unknown', client_secret: 'x', token: 'x' };
      fails(await postern.post('/oauth/revoke', stranger));
      const page = await postern.get(`/oauth/authorize?client_id=app_unknown`);
      assert.equal(page.status, 500);
      assert.equal(existsSync(databasePath), false);

      renameSync(parked, databasePath);
      await eventually(async () => (await postern.get('/health')).status === 200);
      assert.equal((await postern.refresh(client, first!.refresh_token)).status, 200);
      assert.equal((await postern.refresh(client, second!.refresh_token)).status, 200);
      assert.equal((await postern.exchange(client, code!)).status, 200);
      assert.equal((await postern.userinfo(second!.access_token)).status, 200);
      assert.equal((await postern.userinfo(revoked!.access_token)).status, 401);
    }));

  test('deleted: it stays refused and no empty one takes its place', () =>
    inService(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const { client, databasePath } = prepared;
      for (const path of [databasePath, `${databasePath}-wal`, `${databasePath}-shm`]) {
        if (existsSync(path)) renameSync(path, join(prepared.folder, 'gone'));
      }
      fails(await postern.refresh(client, tokens!.refresh_token));
      await eventually(async () => (await postern.get('/health')).status === 503);
      fails(await postern.userinfo(tokens!.access_token));
      assert.equal(existsSync(databasePath), false);
      assert.equal((await postern.stop()).code, 0);
    }));

  test('locked for a moment by another process: requests wait and succeed', () =>
    inService(async (prepared, postern) => {
      const tokens = await prepared.tokens(5);
      const other = new DatabaseSync(prepared.databasePath);
      try {
        other.exec('BEGIN IMMEDIATE');
        let answered = 0;
        const waiting = tokens.map(async ({ refresh_token }) => {
          const answer = await postern.refresh(prepared.client, refresh_token);
          answered++;
          return answer.status;
        });
        // Meanwhile what only reads is served.
        for (const { access_token } of tokens)
          assert.equal((await postern.userinfo(access_token)).status, 200);
        assert.equal(answered, 0);
        other.exec('COMMIT');
        assert.deepEqual(await Promise.all(waiting), [200, 200, 200, 200, 200]);
      } finally {
        other.close();
      }
    }));

  test('locked for long: an error within a bounded time, nothing changed, and it works again after', () =>
    inService(async (prepared, postern) => {
      const [first, second] = await prepared.tokens(2);
      const { client } = prepared;
      const other = new DatabaseSync(prepared.databasePath);
      try {
        other.exec('BEGIN IMMEDIATE');
        const began = performance.now();
        const [refreshed, revoked] = await Promise.all([
          postern.refresh(client, first!.refresh_token),
          postern.revoke(client, second!.refresh_token),
        ]);
        const took = performance.now() - began;
        fails(refreshed);
        fails(revoked);
        assert.ok(took < 30_000, `it took ${Math.round(took)} ms`);
        assert.equal((await postern.userinfo(second!.access_token)).status, 200);
        other.exec('ROLLBACK');
        assert.equal((await postern.refresh(client, first!.refresh_token)).status, 200);
        assert.equal((await postern.revoke(client, second!.refresh_token)).status, 200);
        assert.equal((await postern.userinfo(second!.access_token)).status, 401);
      } finally {
        other.close();
      }
    }));

  test('an unforeseen error is server_error for the client, and its details are in the log alone', () =>
    inService(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const { client } = prepared;
      const visitor = new Visitor(postern as unknown as Service, prepared.user);
      assert.equal((await visitor.signIn()).status, 303);
      const other = new DatabaseSync(prepared.databasePath);
      other.exec('DROP TABLE grants; DROP TABLE sessions');
      other.close();

      const answers = [
        await postern.refresh(client, tokens!.refresh_token),
        await postern.revoke(client, tokens!.refresh_token),
        await postern.revoke(client, tokens!.access_token),
        await postern.userinfo(tokens!.access_token),
      ];
      const told = answers.map(({ body: { error_uri: _, ...body } }) => body);
      for (const [index, answer] of answers.entries()) {
        fails(answer);
        assert.deepEqual(Object.keys(told[index]!).sort(), ['error', 'error_description']);
        assert.deepEqual(told[index], told[0]);
      }
      const page = await visitor.get('/login');
      assert.equal(page.status, 500);
      assert.match(page.headers.get('content-type')!, /text\/html/);
      for (const { text } of [...answers, page])
        assert.doesNotMatch(text, /grants|sessions|table|sql|\.ts\b/i);

      const { code, stdout } = await postern.stop();
      assert.equal(code, 0);
      assert.match(stdout, /no such table: grants/);
      assert.match(stdout, /no such table: sessions/);
      const requestId = /Request ([\w-]+)/.exec(page.text)?.[1];
      assert.ok(requestId && stdout.includes(`"request_id":"${requestId}"`));
    }));
});

test('the command beside a running service: a disabled application is refused within a second', () =>
  inService(async (prepared, postern) => {
    const { client, settings } = prepared;
    const [tokens] = await prepared.tokens(1);
    assert.equal((await postern.userinfo(tokens!.access_token)).status, 200);
    const apps = async (deed: string) => {
      const { code, stderr } = await new Command(['apps', deed, client.clientId], settings).end();
      assert.equal(code, 0, stderr);
    };
    await apps('disable');
    await eventually(async () => (await postern.userinfo(tokens!.access_token)).status === 401, 2_000);
    const refused = await postern.refresh(client, tokens!.refresh_token);
    assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_client']);
    await apps('enable');
    await eventually(async () => (await postern.userinfo(tokens!.access_token)).status === 200, 2_000);
    assert.equal((await postern.refresh(client, tokens!.refresh_token)).status, 200);
  }));

test('an address of its own choice is told to the operator as it is', async () => {
  const folder = newFolder();
  const port = await freePort();
  const settings = {
    POSTERN_DATA_DIR: folder,
    POSTERN_PORT: String(port),
    POSTERN_BASE_URL: 'https://id.example',
  };
  const postern = await Postern.start(settings);
  try {
    assert.match(postern.command.stderr, /https:\/\/id\.example/);
  } finally {
    await postern.kill();
    removeFolder(folder);
  }
});
