import { once } from 'node:events';
import { join } from 'node:path';
import { Pool } from 'pg';
import type { Cleanup } from './cleanup.ts';
import { Child, freePort } from './processes.ts';
import { say } from './progress.ts';

const SERVER = new URL('./servers/postgres.ts', import.meta.url).pathname;
const TIMEOUT_MS = 60_000;

/** One PostgreSQL server, with a database for each benchmarked server. */
export class Database {
  readonly #child: Child;
  readonly #port: number;
  readonly version: string;

  private constructor(child: Child, port: number, version: string) {
    this.#child = child;
    this.#port = port;
    this.version = version;
  }

  static async start(folder: string, cleanup: Cleanup): Promise<Database> {
    say('Starting PostgreSQL…');
    const port = await freePort();
    const env = { BENCH_FOLDER: join(folder, 'postgres'), BENCH_PORT: String(port) };
    const child = new Child('PostgreSQL', [process.execPath, SERVER], env, cleanup);
    const exited = once(child.process, 'exit').then(() =>
      Promise.reject(child.failure('exited while starting')),
    );
    await Promise.race([once(child.process, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) }), exited]);
    exited.catch(() => {});
    const [row] = await query(urlOf(port, 'postgres'), 'SHOW server_version');
    return new Database(child, port, String(row?.server_version));
  }

  get pid(): number {
    return this.#child.pid;
  }

  async create(name: string): Promise<string> {
    await query(urlOf(this.#port, 'postgres'), `CREATE DATABASE ${name}`);
    return urlOf(this.#port, name);
  }
}

const urlOf = (port: number, name: string): string => `postgres://postgres:bench@127.0.0.1:${port}/${name}`;

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const pool = new Pool({ connectionString: url, max: 1 });
  try {
    return (await pool.query(sql)).rows;
  } finally {
    await pool.end();
  }
}
