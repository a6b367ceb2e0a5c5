import { type ChildProcess, execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import { openStore, type Store } from '../../src/store/store.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** Where Node keeps compiled code between runs: a command then starts in half the time. */
const COMPILE_CACHE = join(tmpdir(), 'node-compile-cache');

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type Given = { readonly input?: string; readonly env?: Readonly<Record<string, string>> };

/** The real command on a data folder of its own, which is not there yet and goes with the test. */
export class Postern {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-cli-'));
  readonly dataDir = join(this.folder, 'data');

  constructor(t: TestContext) {
    t.after(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  run(args: readonly string[], given: Given = {}): Promise<Ran> {
    return this.execute(join(ROOT, 'bin/postern'), args, given);
  }

  /** Nothing of the machine's own settings reaches it. */
  execute(file: string, args: readonly string[], { input = '', env = {} }: Given = {}): Promise<Ran> {
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

  /** What a command printed with --json; it must have succeeded without a word on standard error. */
  async json<T>(args: readonly string[], given: Given = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], given);
    if (code !== 0 || stderr !== '') throw new Error(`postern ${args.join(' ')} failed (${code}): ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Prepares the database before the first command. */
  withStoreReady<T>(work: (store: Store) => Promise<T>): Promise<T> {
    mkdirSync(this.dataDir, { mode: 0o700 });
    return this.withStore(work);
  }

  /** Looks at the database from beside. */
  async withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = openStore(`sqlite:${join(this.dataDir, 'postern.db')}`);
    try {
      await store.migrate();
      return await work(store);
    } finally {
      await store.close();
    }
  }

  /** All that is on disk of it, its log included. */
  databaseBytes(): Buffer {
    return Buffer.concat(readdirSync(this.dataDir).map((file) => readFileSync(join(this.dataDir, file))));
  }
}

/** A user without the wait for a real hash. */
export async function addUser(store: Store, email: string, name = 'Ada'): Promise<string> {
  const id = newId();
  await store.users.create({ id, email, name, emailVerified: false, passwordHash: 'none', now: Date.now() });
  return id;
}
