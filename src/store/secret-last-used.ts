import type { Driver } from './drivers/driver.ts';

const WRITE_INTERVAL_MS = 60_000;
const BATCH_SIZE = 500;

type Use = { readonly clientId: string; at: number };
const NO_USES: ReadonlyMap<string, Use> = new Map();

/**
 * When each client secret was last used. Every token request reports it, so that must cost no more than a map
 * lookup; a timer writes new times at most once per minute, and no request waits for it.
 */
export class SecretLastUsed {
  readonly #driver: Driver;
  #uses = new Map<string, Use>();
  #writing: ReadonlyMap<string, Use> = NO_USES;
  #timer: NodeJS.Timeout | undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  record(clientId: string, secretId: string, at: number): void {
    const use = this.#uses.get(secretId);
    if (use) {
      use.at = at;
      return;
    }
    this.#uses.set(secretId, { clientId, at });
    this.#timer ??= setTimeout(() => void this.#write(), WRITE_INTERVAL_MS).unref();
  }

  /** The last use, when it is not in the database yet. */
  unwritten(secretId: string): number | undefined {
    return (this.#uses.get(secretId) ?? this.#writing.get(secretId))?.at;
  }

  /** Writes the uses that are left. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#write();
  }

  /** Uses recorded meanwhile wait for the next write. `unwritten` still sees those being written. */
  async #write(): Promise<void> {
    const uses = this.#uses;
    this.#writing = uses;
    this.#uses = new Map();
    this.#timer = undefined;
    const entries = [...uses];
    try {
      for (let i = 0; i < entries.length; i += BATCH_SIZE)
        await Promise.all(entries.slice(i, i + BATCH_SIZE).map(([id, use]) => this.#writeUse(id, use)));
    } catch {
      // The requests that need the database report that it is away; losing a time of use is acceptable.
    }
    this.#writing = NO_USES;
  }

  /** One statement per secret: nodes that write the same rows in another order cannot deadlock. */
  async #writeUse(secretId: string, { clientId, at }: Use): Promise<void> {
    await this.#driver.write(
      `UPDATE application_secrets SET last_used_at = $3
        WHERE client_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $3)`,
      [clientId, secretId, at],
    );
  }
}
