import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cleanup } from './cleanup.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const MAX_KEPT_OUTPUT = 4_000;

/** A child process of the benchmark, stopped by its process id. */
export class Child {
  readonly name: string;
  readonly process: ChildProcess;
  readonly startedAt = performance.now();
  #errors = '';

  constructor(name: string, command: readonly string[], env: Record<string, string>, cleanup: Cleanup) {
    this.name = name;
    // Detached: Ctrl-C reaches only the benchmark, which then stops its children in order.
    this.process = spawn(command[0]!, command.slice(1), {
      env: { ...process.env, NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
      detached: true,
    });
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-MAX_KEPT_OUTPUT);
    });
    cleanup.add(() => this.stop());
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`${this.name} could not be started`);
    return pid;
  }

  get exited(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  failure(what: string): Error {
    return new Error(`${this.name} ${what}. Its last output:\n${this.#errors}`);
  }

  /** Waits for the first response with any status; returns the milliseconds since the process started. */
  async firstResponse(url: string): Promise<number> {
    while (performance.now() - this.startedAt < START_TIMEOUT_MS) {
      if (this.exited) throw this.failure('exited while starting');
      if (await responds(url)) return performance.now() - this.startedAt;
      await sleep(2);
    }
    throw this.failure('did not respond in time');
  }

  async stop(): Promise<void> {
    if (this.exited || this.process.pid === undefined) return;
    const exited = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    const killTimer = setTimeout(() => this.process.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(killTimer);
  }
}

function responds(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(true);
    });
    request.on('error', () => resolve(false)).on('timeout', () => request.destroy());
  });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** CPU time so far and current memory of a process and its descendants (Linux: /proc). */
export type Usage = { readonly cpuMs: number; readonly rssBytes: number };

const TICK_MS = 10;
const PAGE_BYTES =
  Number(readFileSync('/proc/self/smaps', 'utf8').match(/KernelPageSize: +(\d+)/)?.[1]) * 1024;

export function usage(root: number): Usage {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(Number(name)) ?? []);
  const members = new Set([root]);
  // A child usually has a higher pid than its parent, but not always: repeat until no process is added.
  for (let before = 0; before < members.size; ) {
    before = members.size;
    for (const { pid, parent } of stats) if (members.has(parent)) members.add(pid);
  }
  const tree = stats.filter(({ pid }) => members.has(pid));
  return {
    cpuMs: tree.reduce((sum, { ticks }) => sum + ticks, 0) * TICK_MS,
    rssBytes: tree.reduce((sum, { pages }) => sum + pages, 0) * PAGE_BYTES,
  };
}

type Stat = { pid: number; parent: number; ticks: number; pages: number };

/** proc(5): the name may contain spaces, so fields are counted after its closing parenthesis. */
function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    // utime, stime, cutime, cstime (children that have exited and been waited for).
    const ticks = fields[11]! + fields[12]! + fields[13]! + fields[14]!;
    return { pid, parent: fields[1]!, ticks, pages: fields[21]! };
  } catch {
    return undefined;
  }
}
