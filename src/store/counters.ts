import { type RateWindow, RateWindows } from '../protocol/rate-window.ts';
import type { CounterStore } from './store.ts';

/** Counters in memory: right where one process serves, as with SQLite. */
export class MemoryCounters implements CounterStore {
  readonly #byLength = new Map<number, RateWindows>();

  hit(key: string, windowMs: number, now: number, opensAt: number): RateWindow {
    return this.#windows(windowMs).hit(key, now, opensAt);
  }

  takeBack(key: string, windowMs: number): void {
    this.#windows(windowMs).takeBack(key);
  }

  #windows(length: number): RateWindows {
    let windows = this.#byLength.get(length);
    if (!windows) {
      windows = new RateWindows(length);
      this.#byLength.set(length, windows);
    }
    return windows;
  }
}
