import type { App } from '../app.ts';

const HOUR_MS = 3_600_000;

/** Applications created per user and hour, in a window that opens with the first (protocol 8.3). */
export class CreationLimit {
  readonly #app: App;
  readonly #key: string;

  constructor(app: App, userId: string) {
    this.#app = app;
    this.#key = `create application ${userId}`;
  }

  /** Counts a creation before it is made. Undefined when it may be made, else when the next one may. */
  async count(now: number): Promise<number | undefined> {
    const { startedAt, count } = await this.#app.store.counters.hit(this.#key, HOUR_MS, now, now);
    if (count <= this.#app.config.appCreationLimit) return undefined;
    await this.refund();
    return startedAt + HOUR_MS;
  }

  /** For a creation that was counted but not made. */
  async refund(): Promise<void> {
    await this.#app.store.counters.refund(this.#key, HOUR_MS);
  }
}
