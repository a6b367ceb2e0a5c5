const WIDTH = 24;
const REDRAW_INTERVAL_MS = 100;

/** A progress bar; draws nothing if the output is not a terminal. */
export class ProgressBar {
  readonly #output: NodeJS.WriteStream;
  #drawnAt = 0;

  constructor(output: NodeJS.WriteStream = process.stderr) {
    this.#output = output;
  }

  show(label: string, done: number, total: number): void {
    const now = performance.now();
    if (!this.#output.isTTY || (done < total && now - this.#drawnAt < REDRAW_INTERVAL_MS)) return;
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
