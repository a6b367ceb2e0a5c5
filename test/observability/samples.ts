/** The samples of a scrape in the Prometheus text format. */
export class Samples {
  readonly #samples: readonly { name: string; labels: Record<string, string>; value: number }[];

  constructor(text: string) {
    this.#samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels, value]) => ({
      name: name!,
      labels: Object.fromEntries(
        [...(labels ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, content]) => [key!, content!]),
      ),
      value: Number(value),
    }));
  }

  get names(): ReadonlySet<string> {
    return new Set(this.#samples.map(({ name }) => name));
  }

  /** Value of the one sample with at least these labels; undefined if there is none. */
  value(name: string, labels: Record<string, string> = {}): number | undefined {
    return this.#samples.find(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
    )?.value;
  }

  labelNames(name: string): ReadonlySet<string> {
    return new Set(
      this.#samples.filter((sample) => sample.name === name).flatMap(({ labels }) => Object.keys(labels)),
    );
  }

  series(name: string): number {
    return this.#samples.filter((sample) => sample.name === name).length;
  }
}
