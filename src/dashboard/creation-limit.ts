import type { App } from '../app.ts';

const HOUR_MS = 3_600_000;

/** Spec 8: a number of creations an hour per user account, in a window that opens with the first. */
export class CreationLimit {
  readonly #app: App;
  readonly #key: string;

  constructor(app: App, userId: string) {
    this.#app = app;
    this.#key = `create application ${userId}`;
  }

  /** Counts one creation before it is made. When it is one too many: the time of the next that is possible. */
  async count(now: number): Promise<number | undefined> {
    const { startedAt, count } = await this.#app.store.counters.hit(this.#key, HOUR_MS, now, now);
    if (count <= this.#app.config.appCreationLimit) return undefined;
    await this.refund();
    return startedAt + HOUR_MS;
  }

  /** Nothing was created after all. */
  async refund(): Promise<void> {
    await this.#app.store.counters.refund(this.#key, HOUR_MS);
  }
}
