import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pastedFrom, ROOT, readPage } from '../support/markdown-blocks.ts';
import { Person } from '../support/person.ts';

const folder = mkdtempSync(join(tmpdir(), 'postern-readme-'));
const callback: Server = createServer((_request, response) => response.end());
let service: ChildProcessWithoutNullStreams;
let env: NodeJS.ProcessEnv;

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  await once(server.close(), 'close');
  return port;
}

before(async () => {
  callback.listen(0, '127.0.0.1');
  await once(callback, 'listening');
  env = { ...process.env, POSTERN_DATA_DIR: folder, POSTERN_PORT: String(await freePort()) };
  service = spawn(join(ROOT, 'bin/postern'), ['serve'], { env });
  service.stdout.resume();
  await until(service, 'stderr', /listens on/);
});
after(async () => {
  callback.close();
  service.kill('SIGTERM');
  await once(service, 'exit');
  rmSync(folder, { recursive: true, force: true });
});

/** Waits until the output matches. */
async function until(
  process: ChildProcessWithoutNullStreams,
  voice: 'stdout' | 'stderr',
  pattern: RegExp,
): Promise<string> {
  let said = '';
  for await (const chunk of process[voice].iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (pattern.test(said)) return said;
  }
  throw new Error(`it never said ${pattern}:\n${said}`);
}

/** The README's ports may be in use on this machine. */
const here = (text: string): string =>
  text
    .replaceAll('localhost:3000', `localhost:${env.POSTERN_PORT}`)
    .replaceAll('localhost:4000', `localhost:${portOf(callback)}`);

test('the first flow of the README, pasted block by block, ends with the profile', async () => {
  const blocks = pastedFrom('README.md').map(here);
  const step = blocks.findIndex((block) => block.includes('PASTE THE ADDRESS HERE'));
  assert.ok(step > 0);
  const [, email, password] = /sign in as `(.+?)` with `(.+?)`/.exec(readPage('README.md'))!;

  const shell = spawn('/bin/sh', ['-eu'], { cwd: ROOT, env });
  shell.stderr.pipe(process.stderr);
  shell.stdin.write(blocks.slice(0, step).join('\n'));
  const printed = await until(shell, 'stdout', /oauth\/authorize\?\S*\n/);

  const person = new Person();
  const login = await person.open(/http:\S+\/oauth\/authorize\?\S*/.exec(printed)![0]);
  const consent = await person.submit(login, '/login', { email: email!, password: password! });
  const returned = await person.submit(consent, '/oauth/authorize', { decision: 'allow' });
  assert.equal(returned.url.pathname, '/callback');

  const rest = blocks.slice(step).join('\n').replace('PASTE THE ADDRESS HERE', returned.url.href);
  shell.stdin.end(rest);
  const ending = await until(shell, 'stdout', /\{"sub".*\}/);
  const told = JSON.parse(/\{"sub".*\}/.exec(ending)![0]) as Record<string, unknown>;
  const shown = JSON.parse(/\{"sub".*\}/.exec(readPage('README.md'))![0]) as Record<string, unknown>;
  assert.deepEqual(Object.keys(told), Object.keys(shown));
  const { name, email: address, email_verified } = told;
  assert.deepEqual([name, address, email_verified], ['Ada Lovelace', email, true]);
});
