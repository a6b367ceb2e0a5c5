import type pg from 'pg';
import { destroy } from './postgres-client.ts';
import type { PostgresServers } from './postgres-servers.ts';

const HEARTBEAT_INTERVAL_MS = 500;
const RETRY_INTERVAL_MS = 500;
const TIMEOUT_MS = 1_000;

/**
 * Calls its listeners with the subject of each change that a node announces. Without a connection it cannot know, so
 * it calls them without a subject, at once and then twice a second: cached data is never older than that.
 */
export class Listener {
  readonly #servers: PostgresServers;
  readonly #channel: string;
  readonly #listeners: ((subject?: string) => void)[] = [];
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(servers: PostgresServers, channel: string) {
    this.#servers = servers;
    this.#channel = channel;
  }

  /** Connects on the first listener. */
  add(listener: (subject?: string) => void): void {
    this.#listeners.push(listener);
    if (this.#timer === undefined) this.#schedule(0);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#disconnect();
  }

  #schedule(delayMs: number): void {
    if (!this.#closed) this.#timer = setTimeout(() => this.#beat(), delayMs).unref();
  }

  /** Connects, or checks the connection: a dead one looks the same as one without notifications. */
  async #beat(): Promise<void> {
    try {
      if (this.#client) await this.#client.query('SELECT 1');
      else await this.#listen();
      this.#schedule(HEARTBEAT_INTERVAL_MS);
    } catch {
      this.#disconnect();
      this.#notify();
      this.#schedule(RETRY_INTERVAL_MS);
    }
  }

  async #listen(): Promise<void> {
    const client = await this.#servers.connect({ timeoutMs: TIMEOUT_MS });
    if (this.#closed) return destroy(client);
    // The next heartbeat reconnects; until then cached data cannot be trusted.
    client.on('error', () => this.#notify());
    client.on('notification', ({ payload }) => this.#notify(payload || undefined));
    this.#client = client;
    await client.query(`LISTEN ${this.#channel}`);
    this.#notify();
  }

  #notify(subject?: string): void {
    for (const listener of this.#listeners) listener(subject);
  }

  #disconnect(): void {
    if (this.#client) destroy(this.#client);
    this.#client = undefined;
  }
}
