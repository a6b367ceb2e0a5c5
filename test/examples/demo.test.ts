import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Person } from '../support/person.ts';

const ROOT = join(import.meta.dirname, '../..');

type Ports = { readonly DEMO_POSTERN_PORT: string; readonly DEMO_APP_PORT: string };
const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
let demo: ChildProcess;
let said = '';
let ports: Ports;

async function freePorts(): Promise<Ports> {
  const servers = [createServer().listen(0, '127.0.0.1'), createServer().listen(0, '127.0.0.1')];
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const [first, second] = servers.map((server) => String((server.address() as AddressInfo).port));
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return { DEMO_POSTERN_PORT: first!, DEMO_APP_PORT: second! };
}

const startDemo = (env: Ports): ChildProcess =>
  spawn(process.execPath, ['examples/demo.ts'], {
    cwd: ROOT,
    env: { ...process.env, ...env, TMPDIR: folder },
    stdio: 'pipe',
  });

before(async () => {
  ports = await freePorts();
  demo = startDemo(ports);
  demo.stderr!.pipe(process.stderr);
  for await (const chunk of demo.stdout!.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (said.includes('Ctrl-C')) break;
  }
});
after(() => {
  demo.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** What the demo told the person at the terminal. */
const told = (pattern: RegExp): string => pattern.exec(said)![1]!;

async function consentScreen(person: Person) {
  const home = await person.open(told(/Open (\S+)/));
  const login = await person.submit(home, '/login');
  assert.equal(login.url.port, ports.DEMO_POSTERN_PORT);
  const [email, password] = [told(/Sign in: +(.+)/), told(/Password: +(.+)/)];
  return person.submit(login, '/login', { email, password });
}

test('"Sign in with Postern", from the button to the profile, a renewal and the end', async () => {
  const person = new Person();
  const consent = await consentScreen(person);
  assert.match(consent.text, /Example application/);
  const home = await person.submit(consent, '/oauth/authorize', { decision: 'allow', scope_email: 'yes' });
  assert.equal(home.url.port, ports.DEMO_APP_PORT);
  assert.match(home.text, /Hello, Ada Lovelace[\s\S]*ada@example\.com/);
  const renewed = await person.submit(home, '/refresh');
  assert.match(renewed.text, /refreshed once/);
  const end = (text: string) => /ends in <code>(.{4})/.exec(text)![1];
  assert.notEqual(end(renewed.text), end(home.text));
  const out = await person.submit(renewed, '/logout');
  assert.match(out.text, /Sign in with Postern/);
});

test('the e-mail address can be left out, and Deny is told to the application', async () => {
  const person = new Person();
  const home = await person.submit(await consentScreen(person), '/oauth/authorize', { decision: 'allow' });
  assert.match(home.text, /Hello, Ada Lovelace/);
  assert.doesNotMatch(home.text, /ada@example\.com/);
  const start = await person.submit(home, '/logout');
  const denied = await person.submit(await person.submit(start, '/login'), '/oauth/authorize', {
    decision: 'deny',
  });
  assert.match(denied.text, /Access denied/);
});

test('a port in use is named, with what to do', async () => {
  const second = startDemo(ports);
  let complaint = '';
  second.stderr!.on('data', (chunk) => {
    complaint += String(chunk);
  });
  const [code] = await once(second, 'close');
  assert.equal(code, 1);
  assert.equal(
    complaint,
    `demo: Port ${ports.DEMO_POSTERN_PORT} is in use. Stop the process that listens there, or choose another port: DEMO_POSTERN_PORT=… npm run demo\n`,
  );
});

test('Ctrl-C stops both and leaves nothing', async () => {
  demo.kill('SIGINT');
  const [code] = await once(demo, 'exit');
  assert.equal(code, 0);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('postern-demo-')),
    [],
  );
  for (const port of Object.values(ports)) await assert.rejects(fetch(`http://localhost:${port}/`));
});

test('nothing of the demo is part of the service', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true });
  for (const file of sources.filter((entry) => entry.isFile())) {
    const text = readFileSync(join(file.parentPath, file.name), 'utf8');
    assert.doesNotMatch(text, /examples\/|open the postern/, file.name);
  }
  assert.ok(!readFileSync(join(ROOT, 'Dockerfile'), 'utf8').includes('examples'));
  assert.ok(existsSync(join(ROOT, 'examples/web-app/app.ts')));
});
