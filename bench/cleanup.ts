/** Undoes every registered step in reverse order when the benchmark completes, fails or is interrupted. */
export class Cleanup {
  readonly #steps: (() => Promise<void> | void)[] = [];
  #running: Promise<void> | undefined;

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        process.stderr.write(`\n${signal}: cleaning up…\n`);
        this.run().finally(() => process.exit(130));
      });
    }
    process.once('uncaughtException', (error) => {
      process.stderr.write(`\n${error.stack}\n`);
      this.run().finally(() => process.exit(1));
    });
  }

  add(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }

  run(): Promise<void> {
    this.#running ??= this.#undo();
    return this.#running;
  }

  async #undo(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        process.stderr.write(`cleanup failed: ${error instanceof Error ? error.message : error}\n`);
      }
    }
  }
}
