import { type ChildProcess, execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import { openStore, type Store } from '../../src/store/store.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** Compiled code kept between runs: a command starts in half the time. */
const COMPILE_CACHE = join(tmpdir(), 'node-compile-cache');

type RunResult = { readonly code: number; readonly stdout: string; readonly stderr: string };
type RunOptions = { readonly input?: string; readonly env?: Readonly<Record<string, string>> };

/** The real command with a data folder that does not exist yet and is removed after the test. */
export class Postern {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-cli-'));
  readonly dataDir = join(this.folder, 'data');

  constructor(t: TestContext) {
    t.after(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  run(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    return this.execute(join(ROOT, 'bin/postern'), args, options);
  }

  /** Without the POSTERN_ settings of this machine. */
  execute(
    file: string,
    args: readonly string[],
    { input = '', env = {} }: RunOptions = {},
  ): Promise<RunResult> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('POSTERN_'));
    const own = { NODE_COMPILE_CACHE: COMPILE_CACHE, POSTERN_DATA_DIR: this.dataDir };
    const options = { cwd: ROOT, env: { ...Object.fromEntries(inherited), ...own, ...env } };
    return new Promise((resolve) => {
      const child: ChildProcess = execFile(file, args, options, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      });
      child.stdin?.on('error', () => {}).end(input);
    });
  }

  /** The output of a command with --json, which must succeed without output on standard error. */
  async json<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], options);
    if (code !== 0 || stderr !== '') throw new Error(`postern ${args.join(' ')} failed (${code}): ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Prepares the database before the first command. */
  withStoreReady<T>(work: (store: Store) => Promise<T>): Promise<T> {
    mkdirSync(this.dataDir, { mode: 0o700 });
    return this.withStore(work);
  }

  /** Opens the database beside the command. */
  async withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = openStore(`sqlite:${join(this.dataDir, 'postern.db')}`);
    try {
      await store.migrate();
      return await work(store);
    } finally {
      await store.close();
    }
  }

  /** All bytes of the data folder, write-ahead log included. */
  databaseBytes(): Buffer {
    return Buffer.concat(readdirSync(this.dataDir).map((file) => readFileSync(join(this.dataDir, file))));
  }
}

/** A user without a real password hash, which would be slow. */
export async function addUser(store: Store, email: string, name = 'Ada'): Promise<string> {
  const id = newId();
  await store.users.create({ id, email, name, emailVerified: false, passwordHash: 'none', now: Date.now() });
  return id;
}
