import type pg from 'pg';
import { parsePostgresUrl, type SessionKind } from '../../postgres-url.ts';
import { DatabaseUnavailable } from '../errors.ts';
import { destroy, newClient } from './postgres-client.ts';

type ConnectOptions = {
  /** Limit of each statement, and of connecting; 0 is no limit for statements. */
  readonly timeoutMs: number;
  readonly pipeline?: boolean;
  /** Run on each new connection, together with the checks. */
  readonly setUp?: string;
};

const CONNECT_TIMEOUT_MS = 10_000;

const STATE = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only`;

/** Fails on a standby, on engines that only speak PostgreSQL's protocol, and without the privilege. */
const HISTORY = `SELECT (SELECT system_identifier FROM pg_control_system()) AS system,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline`;

/** The PostgreSQL servers of a URL: one of them is the primary, and after a failover another one is. */
export class PostgresServers {
  readonly #urls: readonly string[];
  readonly #sessionKind: SessionKind;
  /** The server that did last is tried first. */
  #preferred = 0;
  /** The newest timeline seen of each cluster. A promoted standby begins a new one (hexadecimal, 8 digits). */
  readonly #timelines = new Map<string, string>();

  constructor(url: string) {
    const { urls, sessionKind } = parsePostgresUrl(url) ?? { urls: [url], sessionKind: 'any' };
    this.#urls = urls;
    this.#sessionKind = sessionKind;
  }

  /** A connection to the first server that will do. */
  async connect(options: ConnectOptions): Promise<pg.Client> {
    const errors: unknown[] = [];
    for (let i = 0; i < this.#urls.length; i++) {
      const index = (this.#preferred + i) % this.#urls.length;
      try {
        const client = await this.#connectTo(this.#urls[index]!, options);
        this.#preferred = index;
        return client;
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    const reasons = errors.map((error) => (error instanceof Error ? error.message : String(error)));
    throw new DatabaseUnavailable(`no server of ${errors.length} can be used: ${reasons.join('; ')}`, {
      cause: errors.at(-1),
    });
  }

  async #connectTo(url: string, { timeoutMs, pipeline, setUp }: ConnectOptions): Promise<pg.Client> {
    // All servers together take no longer than one statement may: else a dead one would use up a request's time.
    const connectMs = (timeoutMs || CONNECT_TIMEOUT_MS) / this.#urls.length;
    const client = newClient(url, timeoutMs, connectMs, pipeline);
    client.on('error', () => {});
    // connectionTimeoutMillis does not cover a server that falls silent after it accepted the connection.
    const overdue = setTimeout(() => destroy(client), connectMs);
    try {
      await client.connect();
      const steps = [
        async () => setUp && client.query(setUp),
        () => this.#checkState(client),
        () => this.#checkHistory(client),
      ];
      if (pipeline) await Promise.all(steps.map((step) => step()));
      else for (const step of steps) await step();
      return client;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    } finally {
      clearTimeout(overdue);
    }
  }

  async #checkState(client: pg.Client): Promise<void> {
    if (this.#sessionKind === 'any') return;
    const { rows } = await client.query<{ standby: number; read_only: string }>(STATE);
    const { standby, read_only: readOnly } = rows[0]!;
    if (standby) throw new DatabaseUnavailable('the server is a standby');
    if (this.#sessionKind === 'read-write' && readOnly === 'on')
      throw new DatabaseUnavailable('the server is read-only');
  }

  /**
   * An old primary that comes back after a failover still takes writes, which are lost later. It is on an older
   * timeline. A process that has not seen the newer one cannot know that (docs/operations.md).
   */
  async #checkHistory(client: pg.Client): Promise<void> {
    type History = { system: string; timeline: string };
    const [history] = (await client.query<History>(HISTORY).catch(() => undefined))?.rows ?? [];
    if (!history) return;
    const { system, timeline } = history;
    const newest = this.#timelines.get(system) ?? '';
    if (timeline < newest)
      throw new DatabaseUnavailable(
        'the server is a former primary: it lacks what was written after a failover',
      );
    this.#timelines.set(system, timeline);
  }
}
