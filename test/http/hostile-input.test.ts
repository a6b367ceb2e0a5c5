import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Service } from '../support/service.ts';

const MB = 1024 * 1024;
/** No request of any shape may cost more CPU than this; the whole process is measured, test client included. */
const MAX_CPU_MS = 10;
/** The best of so many: other processes on the machine make the rest slower. */
const REPEATS = 12;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function memoryUsed(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers, external } = process.memoryUsage();
  return heapUsed + arrayBuffers + external;
}

describe('hostile input', () => {
  let service: Service;
  before(async () => {
    service = await Service.start({ POSTERN_RATE_LIMIT: '1000000' });
  });
  after(() => service.stop());

  const form = (body: string, headers: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body,
  });
  const authorization = (value: string) => ({ headers: { authorization: value } });

  const SHAPES: Readonly<Record<string, readonly [path: string, init: RequestInit]>> = {
    'a Basic header of spaces': [
      '/oauth/token',
      form('', { authorization: `Basic ${' '.repeat(15_000)}x y` }),
    ],
    'a Basic header of blocks': ['/oauth/token', form('', { authorization: `Basic ${'x '.repeat(7_000)}` })],
    'a Bearer header of spaces': ['/oauth/userinfo', authorization(`Bearer ${' '.repeat(15_000)}x y`)],
    'a form of malformed escapes': ['/oauth/token', form('%&'.repeat(32_000))],
    'a form of malformed UTF-8': ['/oauth/token', form('%ff=%ff&'.repeat(8_000))],
    'a form of empty pairs': ['/oauth/token', form('&'.repeat(64_000))],
    'a form of distinct names': [
      '/oauth/token',
      form(Array.from({ length: 9_000 }, (_, n) => `p${n}`).join('&')),
    ],
    'a form of one long name': ['/oauth/token', form(`${'a'.repeat(64_000)}=1`)],
    'a long client_id': [
      '/oauth/token',
      form(`client_id=${'a'.repeat(60_000)}&client_secret=x&grant_type=refresh_token&refresh_token=x`),
    ],
    'a form of plus signs': ['/login', form('+'.repeat(64_000))],
    'JSON of quotes': [
      '/oauth/token',
      { ...form(`{"a":"${'\\"'.repeat(30_000)}"}`), headers: { 'content-type': 'application/json' } },
    ],
    'JSON of nested arrays': [
      '/oauth/token',
      { ...form('['.repeat(60_000)), headers: { 'content-type': 'application/json' } },
    ],
    'an authorize query of malformed escapes': [`/oauth/authorize?${'%&'.repeat(7_500)}`, {}],
    'an authorize query of names': [
      `/oauth/authorize?${Array.from({ length: 2_000 }, (_, n) => `p${n}=${n}`).join('&')}`,
      {},
    ],
    'a login query of malformed escapes': [`/login?${'%&'.repeat(7_500)}`, {}],
    'a path of slashes': ['/'.repeat(15_000), {}],
    'a path of malformed escapes': [`/dashboard/apps/${'%'.repeat(14_000)}`, {}],
    'a cookie of separators': ['/account', { headers: { cookie: '; '.repeat(7_000) } }],
    'a cookie of names': [
      '/account',
      { headers: { cookie: Array.from({ length: 1_500 }, (_, n) => `c${n}=${n}`).join('; ') } },
    ],
    'a forwarded header of commas': ['/login', { headers: { 'x-forwarded-for': '1.1.1.1,'.repeat(1_800) } }],
    'a long scope': [`/oauth/authorize?scope=${'a+'.repeat(7_000)}`, {}],
  };

  for (const [name, [path, init]] of Object.entries(SHAPES))
    it(`${name} costs no more than ${MAX_CPU_MS} ms of CPU`, async () => {
      const send = async () => (await fetch(service.url + path, { ...init, redirect: 'manual' })).text();
      await send();
      const costs: number[] = [];
      for (let i = 0; i < REPEATS; i++) {
        const start = process.cpuUsage();
        await send();
        const { user, system } = process.cpuUsage(start);
        costs.push((user + system) / 1000);
      }
      const best = Math.min(...costs);
      assert.ok(best < MAX_CPU_MS, `${best.toFixed(1)} ms`);
    });

  it('a body in one-byte chunks costs no multiple of its size', async () => {
    const BODIES = 20;
    const SIZE = 6_000;
    const open = await Promise.all(Array.from({ length: BODIES }, () => connected(service)));
    const head = `POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ntransfer-encoding: chunked\r\n\r\n`;
    const start = memoryUsed();
    for (const socket of open) socket.write(head + '1\r\na\r\n'.repeat(SIZE));
    await delivered(service, BODIES);
    const held = (memoryUsed() - start) / MB;
    for (const socket of open) socket.destroy();
    assert.ok(held < 6, `${BODIES} bodies of ${SIZE} bytes hold ${held.toFixed(1)} MB`);
  });

  it('a connection that pipelines is read no further while its requests are unanswered', async (t) => {
    const REQUESTS = 30_000;
    // A single read may bring 64 KiB of requests; what follows must wait.
    const MAX_STARTED = 2_500;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const check = t.mock.method(service.app.health, 'check', () => held);
    const socket = await connected(service);
    socket.on('error', () => {});
    socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(REQUESTS));
    for (let i = 0; i < 50; i++) await (await fetch(`${service.url}/login`)).text();
    const started = check.mock.callCount();
    socket.destroy();
    release();
    assert.ok(started > 0 && started < MAX_STARTED, `${started} of ${REQUESTS} were started`);
  });
});

describe('a bound on connections', () => {
  it('closes connections beyond POSTERN_MAX_CONNECTIONS, and accepts again once others have closed', async () => {
    const service = await Service.start({ POSTERN_MAX_CONNECTIONS: '3' });
    const open = await Promise.all(Array.from({ length: 3 }, () => connected(service)));
    const fourth = await connected(service);
    const closed = new Promise<void>((resolve) => fourth.once('close', () => resolve()));
    fourth.on('error', () => {});
    await closed;
    for (const socket of open) {
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.end();
      await ended;
    }
    assert.equal((await fetch(`${service.url}/health`)).status, 200);
    await service.stop();
  });
});

async function connected(service: Service): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port) });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return socket;
}

/** Everything sent before has been read once later requests on other connections are answered. */
async function delivered(service: Service, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) await (await fetch(`${service.url}/health`)).text();
}
