/** Limit for output that is not a terminal. */
const MAX_LINES = 200;

/** A progress bar: one line that is rewritten on a terminal, one line per step elsewhere. */
export class Progress {
  readonly #total: number;
  readonly #startedAt = performance.now();
  #done = 0;

  constructor(total: number) {
    this.#total = total;
  }

  show(text: string): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${this.#prefix()} ${text}`);
  }

  advance(text: string): void {
    this.#done++;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${this.#prefix()} ${text}`);
    else if (this.#done % Math.ceil(this.#total / MAX_LINES) === 0)
      process.stderr.write(`${this.#prefix()} ${text}\n`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  #prefix(): string {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    const bar = '█'.repeat(Math.round((20 * this.#done) / this.#total)).padEnd(20, '░');
    return `${bar} ${this.#done}/${this.#total} ${seconds}s`;
  }
}

/** Prints a line to standard error. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);
