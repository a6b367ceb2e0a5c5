import type pg from 'pg';
import { destroy } from './postgres-client.ts';
import type { PostgresServers } from './postgres-servers.ts';

const HEARTBEAT_INTERVAL_MS = 500;
const RETRY_INTERVAL_MS = 500;
const TIMEOUT_MS = 1_000;

const COUNT_OF_CHANGES = `SELECT at FROM heartbeats WHERE name = 'changes'`;

/**
 * Calls its listeners with the subject of each change that a node announces. Twice a second it also compares the count
 * of changes with those it knows of: notifications of another server of a cluster do not arrive here. For changes that
 * were not announced, and while there is no connection, it calls them without a subject: cached data is never older
 * than that.
 */
export class Listener {
  readonly #servers: PostgresServers;
  readonly #channel: string;
  readonly #listeners: ((subject?: string) => void)[] = [];
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** The number of changes that the listeners have been called for. */
  #known = 0;

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
      if (this.#client) await this.#lookForChanges(this.#client);
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
    client.on('notification', ({ payload = '' }) => this.#hear(payload));
    this.#client = client;
    await client.query(`LISTEN ${this.#channel}`);
    await this.#lookForChanges(client);
    this.#notify();
  }

  async #lookForChanges(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ at: number }>(COUNT_OF_CHANGES);
    const count = rows[0]?.at ?? 0;
    if (count === this.#known) return;
    this.#known = count;
    this.#notify();
  }

  /** A notification is the count of changes and the subject of the last one. */
  #hear(payload: string): void {
    const space = payload.indexOf(' ');
    const count = Number(payload.slice(0, space));
    if (count <= this.#known) return;
    const nothingMissed = count === this.#known + 1;
    this.#known = count;
    this.#notify(nothingMissed ? payload.slice(space + 1) : undefined);
  }

  #notify(subject?: string): void {
    for (const listener of this.#listeners) listener(subject);
  }

  #disconnect(): void {
    if (this.#client) destroy(this.#client);
    this.#client = undefined;
  }
}
