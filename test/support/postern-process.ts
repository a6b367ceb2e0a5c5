import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exchangeForm, type IssuedCode, type Reply, refreshForm, type TestClient } from './service.ts';

export const COMMAND = new URL('../../bin/postern', import.meta.url).pathname;
const START_DEADLINE_MS = 60_000;
const END_DEADLINE_MS = 30_000;

/** No process outlives its test file, even when a test fails and its code continues. */
const running = new Set<ChildProcess>();
let over = false;
export function endAll(): void {
  over = true;
  for (const child of running) child.kill('SIGKILL');
}
process.on('exit', endAll);

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'postern-test-'));
export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Settings of a process whose clock is off. */
export const clockAhead = (ms: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`const real = Date.now; Date.now = () => real() + ${ms};`)}`,
});

/** Output and exit code of a command. */
type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Makes writes fail that would make a file larger than this, as on a full disk. */
type Limits = { readonly maxFileBlocks?: number };

/** One run of the real bin/postern. Its environment contains only PATH and the given settings. */
export class Command {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], settings: Record<string, string>, input = '', limits: Limits = {}) {
    assert.ok(!over, 'the tests of this file have finished');
    const env = { PATH: process.env.PATH, ...settings };
    const { maxFileBlocks = 'unlimited' } = limits;
    const limited = ['-c', `ulimit -f ${maxFileBlocks} && exec "$0" "$@"`, COMMAND, ...args];
    this.child = spawn('sh', limited, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    running.add(this.child);
    this.child.stdin!.on('error', () => {});
    this.child.stdin!.end(input);
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(this.child, 'close').then(([code]) => {
      running.delete(this.child);
      return { code: code as number | null, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /** Waits for its end; at the deadline it is killed and the exit code is null. */
  async end(deadlineMs = END_DEADLINE_MS): Promise<Ended> {
    const late = setTimeout(() => this.child.kill('SIGKILL'), deadlineMs);
    try {
      return await this.ended;
    } finally {
      clearTimeout(late);
    }
  }
}

/** Requests to a Postern that runs as a separate process. */
export class PosternClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return reply(await fetch(this.url + path, { headers, redirect: 'manual' }));
  }

  async post(
    path: string,
    form: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const body = new URLSearchParams(form);
    return reply(await fetch(this.url + path, { method: 'POST', body, headers, redirect: 'manual' }));
  }

  exchange(client: TestClient, code: IssuedCode): Promise<Reply> {
    return this.post('/oauth/token', exchangeForm(client, code));
  }

  refresh(client: TestClient, refreshToken: string): Promise<Reply> {
    return this.post('/oauth/token', refreshForm(client, refreshToken));
  }

  revoke({ clientId: client_id, clientSecret: client_secret }: TestClient, token: string): Promise<Reply> {
    return this.post('/oauth/revoke', { token, client_id, client_secret });
  }

  userinfo(accessToken: string): Promise<Reply> {
    return this.get('/oauth/userinfo', { authorization: `Bearer ${accessToken}` });
  }
}

/** `bin/postern serve` as a separate process. */
export class PosternProcess extends PosternClient {
  readonly port: number;
  readonly command: Command;

  private constructor(command: Command, port: number) {
    super(`http://127.0.0.1:${port}`);
    this.command = command;
    this.port = port;
  }

  static async start(settings: Record<string, string>, limits: Limits = {}): Promise<PosternProcess> {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const command = new Command(['serve'], { POSTERN_PORT: String(port), ...settings }, '', limits);
      if (await isListening(command)) return new PosternProcess(command, port);
      const { code, stderr } = await command.end();
      // Another process may have taken the port in the meantime.
      if (attempt === 3 || !stderr.includes('is in use')) assert.fail(`serve ended with ${code}: ${stderr}`);
    }
  }

  /** SIGKILL, like a crash. */
  async kill(): Promise<void> {
    this.command.child.kill('SIGKILL');
    await this.command.ended;
  }

  /** SIGTERM, like an operator. */
  async stop(): Promise<Ended> {
    this.command.child.kill('SIGTERM');
    return this.command.end();
  }
}

async function reply(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** True once it reports that it listens; false when it exits first. */
async function isListening(command: Command): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const look = () => {
    if (command.stderr.includes('Postern listens on')) resolve(true);
  };
  command.child.stderr!.on('data', look);
  void command.ended.then(() => resolve(false));
  const late = setTimeout(() => command.child.kill('SIGKILL'), START_DEADLINE_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    command.child.stderr!.off('data', look);
  }
}
