import type { Contestant } from './contestants/contestant.ts';
import { type Bench, type Measurement, measure, type Running } from './measurement.ts';
import { Progress } from './progress.ts';
import type { Scenario } from './scenarios.ts';

export async function startServer(server: Contestant): Promise<Running & { firstResponseMs: number }> {
  const children = server.start();
  const url = (port: number) => `http://127.0.0.1:${port}${server.paths.userinfo}`;
  const times = await Promise.all(children.map((child, i) => child.firstResponse(url(server.ports[i]!))));
  return { server, children, firstResponseMs: Math.max(...times) };
}

/** Requests per second of the last run, to estimate how many codes or tokens the next run needs. */
export type Estimates = Map<string, number>;
const key = (server: Contestant, scenario: Scenario): string => `${server.id} ${scenario.id}`;
const INITIAL_RATE = 1_500;
const MIN_RATE = 200;
const HEADROOM = 1.5;

/** After so many requests V8 has compiled the hot code; on a busy machine no fixed time is enough. */
const WARM_REQUESTS = 15_000;
const MAX_WARM_UP = 8;

/** Runs a short round that is discarded, and a longer one for servers too slow to warm up in it. */
export async function warmUp(
  bench: Bench,
  running: readonly Running[],
  scenarios: readonly Scenario[],
  seconds: number,
): Promise<Estimates> {
  const estimates: Estimates = new Map();
  await measureRounds(bench, running, scenarios, estimates, { rounds: 1, seconds, warming: true });
  if (seconds < 1) return estimates;
  for (const scenario of scenarios.filter(({ id }) => id === 'refresh' || id === 'userinfo')) {
    for (const one of running) {
      const missing = WARM_REQUESTS / (estimates.get(key(one.server, scenario)) || 1) - seconds;
      if (missing < seconds) continue;
      const longer = { rounds: 1, seconds: Math.min(missing, MAX_WARM_UP), warming: true };
      await measureRounds(bench, [one], [scenario], estimates, longer);
    }
  }
  return estimates;
}

export async function measureRounds(
  bench: Bench,
  running: readonly Running[],
  scenarios: readonly Scenario[],
  estimates: Estimates,
  { rounds, seconds, warming = false }: { rounds: number; seconds: number; warming?: boolean },
): Promise<Measurement[]> {
  const serversOf = (scenario: Scenario) => running.filter(({ server }) => scenario.offeredBy(server));
  const progress = new Progress(rounds * scenarios.flatMap(serversOf).length);
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const scenario of scenarios) {
      for (const one of rotated(serversOf(scenario), round)) {
        const title = `${warming ? 'warming up' : `round ${round} of ${rounds}`}: ${scenario.label}, ${one.server.label}`;
        progress.show(title);
        const rate = estimates.get(key(one.server, scenario)) ?? INITIAL_RATE;
        const maxRequests = Math.ceil(Math.max(MIN_RATE, rate) * seconds * HEADROOM);
        const requests = await scenario.prepare(one.server, { connections: bench.connections, maxRequests });
        const measured = await measure(bench, one, { scenario: scenario.id, round, seconds, requests });
        estimates.set(key(one.server, scenario), measured.perSecond);
        measurements.push(measured);
        progress.advance(`${title}: ${Math.round(measured.perSecond)}/s`);
      }
    }
  }
  progress.end();
  return measurements;
}

/** Another server starts in each round. */
function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
