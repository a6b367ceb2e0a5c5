import { type Limit, type RateWindow, RateWindows } from '../protocol/rate-window.ts';
import { batchableUpdate } from './drivers/batchable-statement.ts';
import type { Driver, RowArray, Value } from './drivers/driver.ts';

export interface CounterStore {
  /** Counts one more under this key of the limit, over all nodes. A window that opens now begins at `opensAt`. */
  hit(limit: Limit, key: string, now: number, opensAt: number): Promise<RateWindow> | RateWindow;
  /** Takes one hit back that was counted in advance and turned out not to count. */
  refund(limit: Limit, key: string): Promise<void> | void;
  /** Removes windows that have ended. */
  sweep(limit: number, now: number): Promise<number> | number;
}

/** Counters in memory, for a single process. Each limit has a map of its own: one that is full affects no other. */
export class MemoryCounters implements CounterStore {
  readonly #byLimit = new Map<string, RateWindows>();

  hit(limit: Limit, key: string, now: number, opensAt: number): RateWindow {
    return this.#windows(limit).hit(key, now, opensAt);
  }

  refund(limit: Limit, key: string): void {
    this.#windows(limit).refund(key);
  }

  /** Nothing to do: RateWindows bounds its own memory. */
  sweep(): number {
    return 0;
  }

  #windows(limit: Limit): RateWindows {
    let windows = this.#byLimit.get(limit.name);
    if (!windows) {
      windows = new RateWindows(limit);
      this.#byLimit.set(limit.name, windows);
    }
    return windows;
  }
}

/** Counts in the key's window, or replaces one that has ended with the next. */
const HIT = batchableUpdate(['text', 'bigint', 'bigint', 'bigint', 'integer'], {
  table: 'rate_windows',
  set: `started_at = CASE WHEN ends_at > $4 THEN started_at ELSE $2 END,
    count = CASE WHEN ends_at > $4 THEN count + $5 ELSE $5 END,
    ends_at = CASE WHEN ends_at > $4 THEN ends_at ELSE $3 END`,
  where: 'key = $1',
  returning: 'started_at, count',
});

/** The same for a new key, unless another node was first. */
const FIRST_HIT = `
  INSERT INTO rate_windows (key, started_at, ends_at, count) VALUES ($1, $2, $3, CAST($5 AS INTEGER))
  ON CONFLICT (key) DO UPDATE SET
    started_at = CASE WHEN rate_windows.ends_at > $4 THEN rate_windows.started_at ELSE excluded.started_at END,
    count = CASE WHEN rate_windows.ends_at > $4 THEN rate_windows.count + excluded.count ELSE excluded.count END,
    ends_at = CASE WHEN rate_windows.ends_at > $4 THEN rate_windows.ends_at ELSE excluded.ends_at END
  RETURNING started_at, count`;

const REFUND = 'UPDATE rate_windows SET count = count - 1 WHERE key = $1 AND count > 0';

const SWEEP = `
  DELETE FROM rate_windows
  WHERE key IN (SELECT key FROM rate_windows WHERE ends_at <= $1 LIMIT $2) AND ends_at <= $1
  RETURNING key`;

/** The row of a window that has just ended is kept: the key's next window will likely reuse it. */
const ENDED_KEPT_MS = 60_000;

const keyOf = ({ name }: Limit, key: string): string => `${name} ${key}`;

type Hit = {
  readonly key: string;
  readonly windowMs: number;
  readonly now: number;
  readonly opensAt: number;
  readonly resolve: (window: RateWindow) => void;
  readonly countHere: () => void;
  readonly reject: (error: unknown) => void;
};

/** How long a key is counted in this process only, after its counter could not be asked. */
const UNREACHABLE_MS = 2_000;
const MAX_UNREACHABLE = 10_000;
/** A database that is silent for longer is away as a whole: the request fails now, and not again at its next statement. */
const SILENT_MS = 1_000;

/**
 * Counters that all nodes share. Hits on a key whose statement is under way are added up and sent with the next one,
 * so that a busy key has one statement at a time instead of a queue for its row. Different keys share a batch.
 * A counter whose server refuses is counted in this process: a limit must not take the service down.
 */
export class SharedCounters implements CounterStore {
  readonly #driver: Driver;
  /** Per key, the hits that wait for the statement under way. */
  readonly #waiting = new Map<string, Hit[]>();
  readonly #inProcess = new MemoryCounters();
  /** Keys whose counter could not be asked, and until when it is not asked again (performance.now()). */
  readonly #unreachable = new Map<string, number>();

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  hit(limit: Limit, name: string, now: number, opensAt: number): Promise<RateWindow> {
    return new Promise((resolve, reject) => {
      const key = keyOf(limit, name);
      const countHere = () => resolve(this.#inProcess.hit(limit, name, now, opensAt));
      if (this.#isUnreachable(key)) return countHere();
      const hit = { key, windowMs: limit.windowMs, now, opensAt, resolve, countHere, reject };
      const waiting = this.#waiting.get(key);
      if (waiting) waiting.push(hit);
      else void this.#send([hit]);
    });
  }

  async refund(limit: Limit, name: string): Promise<void> {
    const key = keyOf(limit, name);
    if (this.#isUnreachable(key)) return this.#inProcess.refund(limit, name);
    await this.#driver.write(REFUND, [key]).catch(() => this.#inProcess.refund(limit, name));
  }

  async sweep(limit: number, now: number): Promise<number> {
    return (await this.#driver.write(SWEEP, [now - ENDED_KEPT_MS, limit])).length;
  }

  async #send(hits: readonly Hit[]): Promise<void> {
    const { key } = hits[0]!;
    this.#waiting.set(key, []);
    await this.#count(hits);
    const next = this.#waiting.get(key)!;
    this.#waiting.delete(key);
    if (next.length > 0) void this.#send(next);
  }

  /** Each hit gets its own count, as if they had come one by one. */
  async #count(hits: readonly Hit[]): Promise<void> {
    const { key, windowMs, now, opensAt } = hits[0]!;
    const sentAt = performance.now();
    try {
      const values = [key, opensAt, opensAt + windowMs, now, hits.length];
      const [startedAt, last] =
        (await this.#driver.runBatched(HIT, values)) ?? (await this.#firstHit(values));
      for (const [index, hit] of hits.entries())
        hit.resolve({ startedAt: Number(startedAt), count: Number(last) - hits.length + 1 + index });
    } catch (error) {
      if (performance.now() - sentAt > SILENT_MS) {
        for (const hit of hits) hit.reject(error);
        return;
      }
      // Also when it is unknown whether they were counted: then they count for no more than one window too much.
      if (this.#unreachable.size >= MAX_UNREACHABLE) this.#unreachable.clear();
      this.#unreachable.set(key, performance.now() + UNREACHABLE_MS);
      for (const hit of hits) hit.countHere();
    }
  }

  #isUnreachable(key: string): boolean {
    const until = this.#unreachable.get(key);
    if (until === undefined || performance.now() < until) return until !== undefined;
    this.#unreachable.delete(key);
    return false;
  }

  async #firstHit(values: readonly Value[]): Promise<RowArray> {
    const [row] = await this.#driver.write(FIRST_HIT, values);
    return [row!.started_at!, row!.count!];
  }
}
