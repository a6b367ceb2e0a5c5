import type { Contestant } from './contestants/contestant.ts';
import { type Bench, type Measurement, measure, type Running } from './measurement.ts';
import { Progress } from './progress.ts';
import type { Scenario } from './scenarios.ts';

export async function startServer(server: Contestant): Promise<Running & { firstAnswerMs: number }> {
  const children = server.start();
  const url = (port: number) => `http://127.0.0.1:${port}${server.paths.userinfo}`;
  const times = await Promise.all(children.map((child, i) => child.firstAnswer(url(server.ports[i]!))));
  return { server, children, firstAnswerMs: Math.max(...times) };
}

/** What a server answered a second when it was last asked: how many codes or tokens the next run may use up. */
export type Estimates = Map<string, number>;
const key = (server: Contestant, scenario: Scenario): string => `${server.id} ${scenario.id}`;
const FIRST_GUESS = 1_500;
const MIN_RATE = 200;
const HEADROOM = 1.5;

/** By then V8 has compiled what is hot; on a busy machine that takes longer than any fixed time. */
const WARM_REQUESTS = 15_000;
const MAX_WARM_UP = 8;

/** A short round that is thrown away, and where it was too short to count as one, a longer one after it. */
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
  const visits = (scenario: Scenario) => running.filter(({ server }) => scenario.offeredBy(server));
  const progress = new Progress(rounds * scenarios.flatMap(visits).length);
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const scenario of scenarios) {
      for (const one of rotated(visits(scenario), round)) {
        const title = `${warming ? 'warming up' : `round ${round} of ${rounds}`}: ${scenario.label}, ${one.server.label}`;
        progress.doing(title);
        const rate = estimates.get(key(one.server, scenario)) ?? FIRST_GUESS;
        const most = Math.ceil(Math.max(MIN_RATE, rate) * seconds * HEADROOM);
        const requests = await scenario.prepare(one.server, { connections: bench.connections, most });
        const measured = await measure(bench, one, { scenario: scenario.id, round, seconds, requests });
        estimates.set(key(one.server, scenario), measured.perSecond);
        measurements.push(measured);
        progress.did(`${title}: ${Math.round(measured.perSecond)}/s`);
      }
    }
  }
  progress.end();
  return measurements;
}

/** Who comes first changes with the round. */
function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
