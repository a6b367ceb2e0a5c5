/** Where the line cannot be rewritten. */
const MAX_LINES = 200;

/** One line that is rewritten on a terminal, and a line a step elsewhere. */
export class Progress {
  readonly #total: number;
  readonly #startedAt = performance.now();
  #done = 0;

  constructor(total: number) {
    this.#total = total;
  }

  doing(what: string): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${this.#prefix()} ${what}`);
  }

  did(what: string): void {
    this.#done++;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${this.#prefix()} ${what}`);
    else if (this.#done % Math.ceil(this.#total / MAX_LINES) === 0)
      process.stderr.write(`${this.#prefix()} ${what}\n`);
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

/** For what happens once. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);
