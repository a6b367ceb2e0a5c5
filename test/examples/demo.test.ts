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

async function freePorts(): Promise<Ports> {
  const servers = [createServer().listen(0, '127.0.0.1'), createServer().listen(0, '127.0.0.1')];
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const [first, second] = servers.map((server) => String((server.address() as AddressInfo).port));
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return { DEMO_POSTERN_PORT: first!, DEMO_APP_PORT: second! };
}

/** The demo as a process, with its temporary files in a folder of its own. */
class Demo {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  readonly ports: Ports;
  readonly process: ChildProcess;
  /** The part of its output up to the last line of the greeting. */
  greeting = '';

  constructor(ports: Ports) {
    this.ports = ports;
    this.process = spawn(process.execPath, ['examples/demo.ts'], {
      cwd: ROOT,
      env: { ...process.env, ...ports, TMPDIR: this.folder },
      stdio: 'pipe',
    });
  }

  static async start(): Promise<Demo> {
    const demo = new Demo(await freePorts());
    demo.process.stderr!.pipe(process.stderr);
    for await (const chunk of demo.process.stdout!.iterator({ destroyOnReturn: false })) {
      demo.greeting += String(chunk);
      if (demo.greeting.includes('Ctrl-C')) break;
    }
    return demo;
  }

  /** The part of the greeting in the parentheses of the pattern. */
  greetingPart(pattern: RegExp): string {
    return pattern.exec(this.greeting)![1]!;
  }

  /** Stops it with SIGINT: after SIGKILL its two servers would go on running. */
  async remove(): Promise<void> {
    if (this.process.exitCode === null) {
      this.process.kill('SIGINT');
      await once(this.process, 'exit');
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let demo: Demo;
before(async () => {
  demo = await Demo.start();
});
after(() => demo.remove());

async function consentScreen(person: Person) {
  const home = await person.open(demo.greetingPart(/Open (\S+)/));
  const login = await person.submit(home, '/login');
  assert.equal(login.url.port, demo.ports.DEMO_POSTERN_PORT);
  const email = demo.greetingPart(/Sign in: +(.+)/);
  const password = demo.greetingPart(/Password: +(.+)/);
  return person.submit(login, '/login', { email, password });
}

test('"Sign in with Postern": from the button to the profile, a refresh and sign-out', async () => {
  const person = new Person();
  const consent = await consentScreen(person);
  assert.match(consent.text, /Example application/);
  const home = await person.submit(consent, '/oauth/authorize', { decision: 'allow', scope_email: 'yes' });
  assert.equal(home.url.port, demo.ports.DEMO_APP_PORT);
  assert.match(home.text, /Hello, Ada Lovelace[\s\S]*ada@example\.com/);
  const renewed = await person.submit(home, '/refresh');
  assert.match(renewed.text, /refreshed once/);
  const end = (text: string) => /ends in <code>(.{4})/.exec(text)![1];
  assert.notEqual(end(renewed.text), end(home.text));
  const out = await person.submit(renewed, '/logout');
  assert.match(out.text, /Sign in with Postern/);
});

test('the user can leave out the email address, or deny', async () => {
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

test('a port in use is reported with the setting that changes it', async () => {
  const second = new Demo(demo.ports);
  let errors = '';
  second.process.stderr!.on('data', (chunk) => {
    errors += String(chunk);
  });
  const [code] = await once(second.process, 'close');
  await second.remove();
  assert.equal(code, 1);
  assert.equal(
    errors,
    `demo: Port ${demo.ports.DEMO_POSTERN_PORT} is in use. Stop the process that listens there, or choose another port: DEMO_POSTERN_PORT=… npm run demo\n`,
  );
});

test('Ctrl-C stops both servers and leaves no files', async () => {
  const stopped = await Demo.start();
  try {
    stopped.process.kill('SIGINT');
    const [code] = await once(stopped.process, 'exit');
    assert.equal(code, 0);
    assert.deepEqual(
      readdirSync(stopped.folder).filter((name) => name.startsWith('postern-demo-')),
      [],
    );
    for (const port of Object.values(stopped.ports)) await assert.rejects(fetch(`http://localhost:${port}/`));
  } finally {
    await stopped.remove();
  }
});

test('src and the Dockerfile do not mention the demo', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true });
  for (const file of sources.filter((entry) => entry.isFile())) {
    const text = readFileSync(join(file.parentPath, file.name), 'utf8');
    assert.doesNotMatch(text, /examples\/|open the postern/, file.name);
  }
  assert.ok(!readFileSync(join(ROOT, 'Dockerfile'), 'utf8').includes('examples'));
  assert.ok(existsSync(join(ROOT, 'examples/web-app/app.ts')));
});
