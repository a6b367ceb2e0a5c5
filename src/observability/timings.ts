import type { Metric, MetricValueWithName, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
type TimingsOptions = {
  readonly name: string;
  readonly help: string;
  /** Upper bounds of the buckets in seconds, ascending. */
  readonly bounds: readonly number[];
};

/** One combination of labels: a count per bucket, and the sum of all observations. */
export class Timing {
  readonly labels: Labels;
  readonly counts: Float64Array;
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > this.#bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += seconds;
  }
}

/**
 * A histogram for the hot path. prom-client's own hashes the labels at every observation, even
 * through a child: some microseconds per request. Here an observation is an addition, and the
 * rest happens at a scrape (docs/decisions/030-metrics.md).
 */
export class Timings {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #bounds: readonly number[];
  readonly #timings: Timing[] = [];

  constructor({ name, help, bounds }: TimingsOptions, registry: Registry) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
    // A registry only uses the name and get() of a metric, though its type requires one of its own classes.
    registry.registerMetric(this as unknown as Metric);
  }

  /** Call once per combination of labels, and keep the result. */
  timing(labels: Labels): Timing {
    const timing = new Timing(labels, this.#bounds);
    this.#timings.push(timing);
    return timing;
  }

  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.#timings.flatMap((timing) => this.#samples(timing)) };
  }

  #samples({ labels, counts, sum }: Timing): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, index) => {
      count += counts[index]!;
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
