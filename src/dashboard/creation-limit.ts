import type { App } from '../app.ts';
import type { Limit } from '../protocol/rate-window.ts';

const HOUR_MS = 3_600_000;

/** Applications created per user and hour, in a window that opens with the first (protocol 8.3). */
export class CreationLimit {
  readonly #app: App;
  readonly #userId: string;
  readonly #limit: Limit;

  constructor(app: App, userId: string) {
    this.#app = app;
    this.#userId = userId;
    this.#limit = { name: 'create application', windowMs: HOUR_MS, max: app.config.appCreationLimit };
  }

  /** Counts a creation before it is made. Undefined when it may be made, else when the next one may. */
  async count(now: number): Promise<number | undefined> {
    const { startedAt, count } = await this.#app.store.counters.hit(this.#limit, this.#userId, now, now);
    if (count <= this.#limit.max) return undefined;
    await this.refund();
    return startedAt + HOUR_MS;
  }

  /** For a creation that was counted but not made. */
  async refund(): Promise<void> {
    await this.#app.store.counters.refund(this.#limit, this.#userId);
  }
}
