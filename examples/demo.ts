/**
 * `npm run demo`: runs Postern and an application that uses it, with a user to sign in as. It uses the
 * ordinary command line on a temporary folder, which it deletes at the end.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const ROOT = join(import.meta.dirname, '..');
const EMAIL = 'ada@example.com';
const PASSWORD = 'open the postern';

const posternPort = process.env.DEMO_POSTERN_PORT ?? '3000';
const appPort = process.env.DEMO_APP_PORT ?? '4000';
const posternUrl = `http://localhost:${posternPort}`;
const appUrl = `http://localhost:${appPort}`;
const folder = mkdtempSync(join(tmpdir(), 'postern-demo-'));
const children: ChildProcess[] = [];

/** Without the POSTERN_ and OTEL_ settings of the environment, which may be those of a real installation. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(POSTERN|OTEL)_/.test(name))),
  POSTERN_DATA_DIR: folder,
  POSTERN_PORT: posternPort,
  POSTERN_LOG_LEVEL: 'warn',
};

async function portIsFree(port: string, setting: string): Promise<void> {
  const probe = createServer().listen(Number(port), '127.0.0.1');
  await once(probe, 'listening').catch(() => {
    throw new Error(
      `Port ${port} is in use. Stop the process that listens there, or choose another port: ${setting}=… npm run demo`,
    );
  });
  probe.close();
  await once(probe, 'close');
}

/** Starts a server and waits until it prints that it listens. */
async function start(file: string, args: string[], env: NodeJS.ProcessEnv, output: 'stdout' | 'stderr') {
  const child = spawn(file, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const [watched, other] = output === 'stdout' ? [child.stdout, child.stderr] : [child.stderr, child.stdout];
  other.pipe(process.stderr);
  const exited = once(child, 'exit').then(() => {
    throw new Error(`${file} exited unexpectedly.`);
  });
  await Promise.race([untilListening(watched), exited]);
  exited.catch(() => stop(1));
}

async function untilListening(stream: Readable): Promise<void> {
  const lines: string[] = [];
  for await (const line of createInterface(stream)) {
    lines.push(line);
    if (line.includes('listens on')) {
      stream.resume();
      return;
    }
  }
  throw new Error(lines.join('\n'));
}

function postern(args: string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      join(ROOT, 'bin/postern'),
      args,
      { cwd: ROOT, env: environment },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    );
    child.stdin?.end(input);
  });
}

let stopping = false;
async function stop(code: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const exits = running.map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGTERM');
  await Promise.all(exits);
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}

async function demo(): Promise<void> {
  await portIsFree(posternPort, 'DEMO_POSTERN_PORT');
  await portIsFree(appPort, 'DEMO_APP_PORT');
  await start(join(ROOT, 'bin/postern'), ['serve'], environment, 'stderr');
  await postern(
    ['users', 'create', '--email', EMAIL, '--name', 'Ada Lovelace', '--email-verified', '--password', '-'],
    PASSWORD,
  );
  const application = ['--name', 'Example application', '--owner', EMAIL, '--optional-scope', 'email'];
  const created = await postern([
    'apps',
    'create',
    ...application,
    '--redirect-uri',
    `${appUrl}/callback`,
    '--json',
  ]);
  const { client_id, client_secret } = JSON.parse(created) as { client_id: string; client_secret: string };
  const appEnvironment = {
    CLIENT_ID: client_id,
    CLIENT_SECRET: client_secret,
    POSTERN_URL: posternUrl,
    PORT: appPort,
  };
  const app = join(ROOT, 'examples/web-app/app.ts');
  await start(process.execPath, [app], { ...environment, ...appEnvironment }, 'stdout');

  console.log(`
  Two sites are running:

    ${appUrl}   an example application (examples/web-app)
    ${posternUrl}   Postern

  1. Open ${appUrl} and press "Sign in with Postern".
  2. Sign in:   ${EMAIL}
     Password:  ${PASSWORD}
  3. Read what the application requests. Your email address is optional: clear it if you like.
  4. Press Allow and see what the application received. Then refresh the token, sign out, or try Deny.

  Ctrl-C stops both and deletes everything.
`);
}

process.once('SIGINT', () => stop(0));
process.once('SIGTERM', () => stop(0));
await demo().catch((error: Error) => {
  console.error(`demo: ${error.message}`);
  return stop(1);
});
