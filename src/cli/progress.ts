const WIDTH = 24;

/** A bar on the terminal; without one, nothing: what matters is in the result. */
export class ProgressBar {
  readonly #output: NodeJS.WriteStream;
  #drawnAt = 0;

  constructor(output: NodeJS.WriteStream = process.stderr) {
    this.#output = output;
  }

  show(label: string, done: number, total: number): void {
    const now = performance.now();
    if (!this.#output.isTTY || (done < total && now - this.#drawnAt < 100)) return;
    this.#drawnAt = now;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const filled = Math.round(share * WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    this.#output.write(`\r\x1b[K${bar} ${Math.floor(share * 100)} %  ${label} ${done.toLocaleString('en')}`);
  }

  clear(): void {
    if (this.#output.isTTY) this.#output.write('\r\x1b[K');
  }
}
