import type { Driver } from './drivers/driver.ts';

const WRITE_EVERY_MS = 60_000;
const WRITES_AT_ONCE = 500;

type Use = { readonly clientId: string; at: number };
const NOTHING: ReadonlyMap<string, Use> = new Map();

/**
 * When each client secret was last used. Every token request tells it here, so telling costs one
 * look into a map; a timer writes what is new, once a minute at most, where no request waits for it.
 */
export class SecretLastUsed {
  readonly #driver: Driver;
  #uses = new Map<string, Use>();
  #writing: ReadonlyMap<string, Use> = NOTHING;
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
    this.#timer ??= setTimeout(() => void this.#write(), WRITE_EVERY_MS).unref();
  }

  /** The last use that is not in the database yet. */
  unwritten(secretId: string): number | undefined {
    return (this.#uses.get(secretId) ?? this.#writing.get(secretId))?.at;
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#write();
  }

  /** What is told meanwhile waits for the next time; until then the earlier map still answers. */
  async #write(): Promise<void> {
    const uses = this.#uses;
    this.#writing = uses;
    this.#uses = new Map();
    this.#timer = undefined;
    const all = [...uses];
    try {
      for (let i = 0; i < all.length; i += WRITES_AT_ONCE)
        await Promise.all(all.slice(i, i + WRITES_AT_ONCE).map(([id, use]) => this.#writeOne(id, use)));
    } catch {
      // A database that is away is reported by the requests that need it; a time of use may be lost.
    }
    this.#writing = NOTHING;
  }

  /** Each a statement of its own: nodes that write the same rows in another order cannot block each other. */
  async #writeOne(secretId: string, { clientId, at }: Use): Promise<void> {
    await this.#driver.write(
      `UPDATE application_secrets SET last_used_at = $3
        WHERE client_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $3)`,
      [clientId, secretId, at],
    );
  }
}
