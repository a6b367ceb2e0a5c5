/**
 * Gathers what is to be done, and has it done together. Doing one thing many times in a row costs a processor far less
 * than doing many things in turn once each: its code and data are in the caches then. Measured here, the same requests
 * cost half (docs/decisions/007-batching.md).
 */
export class Batch<T> {
  readonly #take: (all: T[]) => void;
  readonly #when: Schedule;
  #waiting: T[] = [];

  constructor(when: Schedule, take: (all: T[]) => void) {
    this.#when = when;
    this.#take = take;
  }

  add(item: T): void {
    if (this.#waiting.push(item) === 1) this.#when(() => this.flush());
  }

  get size(): number {
    return this.#waiting.length;
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    const all = this.#waiting;
    this.#waiting = [];
    this.#take(all);
  }
}

export type Schedule = (callback: () => void) => void;

/** When all that can be read from the network now has been read. */
export const onImmediate: Schedule = (callback) => void setImmediate(callback);

/** When everything that runs now waits for something. */
export const onNextTick: Schedule = (callback) => process.nextTick(callback);

/**
 * The same, but once in a turn of the event loop, and then with the next: work that leads to more of its kind, such as
 * one write after the other, must let requests in between.
 */
export function oncePerTurn(): Schedule {
  let done = false;
  return (callback) => {
    if (done) return void setImmediate(callback);
    done = true;
    setImmediate(() => {
      done = false;
    });
    process.nextTick(callback);
  };
}
