import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { autocannon, type ClientComparison } from './autocannon.ts';
import type { Cleanup } from './cleanup.ts';
import type { Contestant } from './contestants/contestant.ts';
import { floor } from './contestants/floor.ts';
import { oauth2Server } from './contestants/oauth2-server.ts';
import { oidcProvider } from './contestants/oidc-provider.ts';
import { Postern } from './contestants/postern.ts';
import { Database } from './database.ts';
import { LoadClient } from './load/load-client.ts';
import { type Bench, type Measurement, measure, type Running } from './measurement.ts';
import type { Options } from './options.ts';
import { Progress, say } from './progress.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

export type Comparison = {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly postgres: string | undefined;
  readonly servers: readonly { id: string; label: string; coldStartMs: readonly number[] }[];
  readonly measurements: readonly Measurement[];
  readonly client: ClientComparison | undefined;
};

const STARTS = 3;
const WARM_UP_SECONDS = 1;

/** All servers up at once, each scenario at each of them in turn, round after round: noise then hits all alike. */
export async function compare(options: Options, folder: string, cleanup: Cleanup): Promise<Comparison> {
  const { quick, rounds, seconds, connections } = options;
  const database = needsPostgres(options) ? await startDatabase(folder, cleanup) : undefined;
  const servers = await contestants(options, folder, database, cleanup);
  const coldStarts = await measureStarts(servers, quick ? 1 : STARTS);
  const running = await Promise.all(servers.map(startServer));
  const bench: Bench = { load: await LoadClient.start(cleanup), database, connections };
  const scenarios = quick ? SCENARIOS.filter(({ id }) => id !== 'introspect') : SCENARIOS;
  const estimates = await warmUp(bench, running, scenarios, quick ? 0.3 : WARM_UP_SECONDS);
  const measurements = await measureRounds(bench, running, scenarios, estimates, { rounds, seconds });
  const client = quick ? undefined : await autocannon(bench, running[0]!.server, seconds);
  return {
    ...{ rounds, seconds, connections, postgres: database?.version },
    servers: servers.map(({ id, label }, i) => ({ id, label, coldStartMs: coldStarts[i]! })),
    ...{ measurements, client },
  };
}

/** A minute is not enough for all: the quick run leaves out what the full one is for. */
const QUICK = ['postern-sqlite', 'oidc-provider'];

function wanted(options: Options, id: string): boolean {
  if (options.only.length > 0) return options.only.includes(id);
  return !options.quick || QUICK.includes(id);
}

const needsPostgres = (options: Options): boolean =>
  ['postern-postgres', 'oidc-provider', 'oauth2-server'].some((id) => wanted(options, id));

export async function startDatabase(folder: string, cleanup: Cleanup): Promise<Database> {
  say('Starting PostgreSQL…');
  return Database.start(folder, cleanup);
}

async function contestants(
  options: Options,
  folder: string,
  database: Database | undefined,
  cleanup: Cleanup,
): Promise<Contestant[]> {
  const servers: Contestant[] = [await floor(cleanup)];
  if (wanted(options, 'postern-sqlite')) servers.push(await posternOnSqlite(folder, cleanup));
  if (wanted(options, 'postern-postgres')) servers.push(await posternOnPostgres(folder, database!, cleanup));
  if (wanted(options, 'oidc-provider'))
    servers.push(await oidcProvider(await database!.create('oidc_provider'), cleanup));
  if (wanted(options, 'oauth2-server'))
    servers.push(await oauth2Server(await database!.create('oauth2_server'), cleanup));
  return servers;
}

export async function posternOnSqlite(
  folder: string,
  cleanup: Cleanup,
  nodeArguments: readonly string[] = [],
): Promise<Postern> {
  const dataDir = join(folder, 'postern-sqlite');
  mkdirSync(dataDir, { recursive: true });
  const databaseUrl = `sqlite:${join(dataDir, 'postern.db')}`;
  const names = { id: 'postern-sqlite', label: 'Postern on SQLite' };
  return Postern.prepare({ ...names, databaseUrl, dataDir, nodeArguments }, cleanup);
}

export async function posternOnPostgres(
  folder: string,
  database: Database,
  cleanup: Cleanup,
  nodeArguments: readonly string[] = [],
): Promise<Postern> {
  const dataDir = join(folder, 'postern-postgres');
  mkdirSync(dataDir, { recursive: true });
  const databaseUrl = await database.create('postern');
  const names = { id: 'postern-postgres', label: 'Postern on PostgreSQL' };
  return Postern.prepare({ ...names, databaseUrl, dataDir, nodeArguments }, cleanup);
}

/** Each alone, before anything else runs. */
async function measureStarts(servers: readonly Contestant[], starts: number): Promise<number[][]> {
  const all: number[][] = [];
  for (const server of servers) {
    const times: number[] = [];
    for (let i = 0; i < starts; i++) {
      const { children, firstAnswerMs } = await startServer(server);
      times.push(firstAnswerMs);
      await Promise.all(children.map((child) => child.end()));
    }
    say(`Cold start of ${server.label}: ${times.map((ms) => Math.round(ms)).join(', ')} ms`);
    all.push(times);
  }
  return all;
}

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
const LEAST_RATE = 200;
const HEADROOM = 1.5;

export async function warmUp(
  bench: Bench,
  running: readonly Running[],
  scenarios: readonly Scenario[],
  seconds: number,
): Promise<Estimates> {
  const estimates: Estimates = new Map();
  await measureRounds(bench, running, scenarios, estimates, { rounds: 1, seconds, warming: true });
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
        const most = Math.ceil(Math.max(LEAST_RATE, rate) * seconds * HEADROOM);
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
