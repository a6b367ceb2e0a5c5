import type { Measurement } from '../measurement.ts';
import type { ScenarioId } from '../scenarios.ts';
import { median, type Spread, spread } from '../statistics.ts';

/** A run with several servers. */
export type Measured = { readonly measurements: readonly Measurement[] };

/** Measurements of one server in one scenario over all rounds. */
export type Summary = {
  readonly server: string;
  readonly scenario: ScenarioId;
  readonly perSecond: Spread;
  /** Ratio to the floor, taken within each round. */
  readonly ofFloor: Spread;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverCpuUs: number;
  readonly databaseCpuUs: number;
  readonly clientCpu: number;
  readonly rssBytes: number;
  readonly rowsPer1000: number;
  readonly boundedRowsPer1000: number;
  readonly bytesPer1000: number;
};

export function summarize(comparison: Measured): Summary[] {
  const groups = Map.groupBy(comparison.measurements, ({ server, scenario }) => `${server} ${scenario}`);
  return [...groups.values()].map((rounds) => {
    const { server, scenario } = rounds[0]!;
    const middle = (figure: keyof Measurement) => median(rounds.map((one) => one[figure] as number));
    return {
      ...{ server, scenario },
      perSecond: spread(rounds.map(({ perSecond }) => perSecond)),
      ofFloor: versus(comparison, scenario, server, 'floor'),
      p50Ms: middle('p50Ms'),
      p99Ms: middle('p99Ms'),
      serverCpuUs: middle('serverCpuUs'),
      databaseCpuUs: middle('databaseCpuUs'),
      clientCpu: middle('clientCpu'),
      rssBytes: Math.max(...rounds.map(({ rssBytes }) => rssBytes)),
      rowsPer1000: middle('rowsPer1000'),
      boundedRowsPer1000: middle('boundedRowsPer1000'),
      bytesPer1000: middle('bytesPer1000'),
    };
  });
}

/** Ratio to another server's figure, taken within each round. */
export function versus(
  { measurements }: Measured,
  scenario: ScenarioId,
  server: string,
  other: string,
  figure: 'perSecond' | 'p99Ms' = 'perSecond',
): Spread {
  const of = (id: string) => measurements.filter((one) => one.server === id && one.scenario === scenario);
  const others = new Map(of(other).map((one) => [one.round, one[figure]]));
  return spread(
    of(server).flatMap((one) => (others.has(one.round) ? one[figure] / others.get(one.round)! : [])),
  );
}
