import type pg from 'pg';
import { newClient } from './postgres-pool.ts';

const HEARTBEAT_MS = 500;
/** While nothing can be heard, everything may have changed this often. */
const DEAF_MS = 500;
const TIMEOUT_MS = 1_000;

/**
 * Hears of changes that other nodes announce. While the connection is down it cannot hear, so it
 * says "changed" at once and then twice a second: what is kept in memory is never older than that.
 */
export class Listener {
  readonly #url: string;
  readonly #channel: string;
  readonly #listeners: (() => void)[] = [];
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(url: string, channel: string) {
    this.#url = url;
    this.#channel = channel;
  }

  /** Nobody listens, no connection. */
  add(listener: () => void): void {
    this.#listeners.push(listener);
    if (this.#timer === undefined) this.#schedule(0);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#drop();
  }

  #schedule(delay: number): void {
    if (!this.#closed) this.#timer = setTimeout(() => this.#beat(), delay).unref();
  }

  /** Connects, or asks whether the connection still stands: a silent one looks like a quiet one. */
  async #beat(): Promise<void> {
    try {
      if (this.#client) await this.#client.query('SELECT 1');
      else await this.#listen();
      this.#schedule(HEARTBEAT_MS);
    } catch {
      await this.#drop();
      this.#tell();
      this.#schedule(DEAF_MS);
    }
  }

  async #listen(): Promise<void> {
    const client = newClient(this.#url, TIMEOUT_MS);
    // The next beat finds out; until then nothing is to be trusted.
    client.on('error', () => this.#tell());
    client.on('notification', () => this.#tell());
    this.#client = client;
    await client.connect();
    await client.query(`LISTEN ${this.#channel}`);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  async #drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    // An orderly goodbye would wait for a server that may be silent.
    (client as unknown as { connection?: { stream: { destroy(): void } } })?.connection?.stream.destroy();
  }
}
