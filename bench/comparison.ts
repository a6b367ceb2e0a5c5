import { autocannon, type ClientComparison } from './autocannon.ts';
import type { Cleanup } from './cleanup.ts';
import type { Contestant } from './contestants/contestant.ts';
import { floor } from './contestants/floor.ts';
import { oauth2Server } from './contestants/oauth2-server.ts';
import { oidcProvider } from './contestants/oidc-provider.ts';
import { posternOnPostgres, posternOnSqlite } from './contestants/postern.ts';
import { Database } from './database.ts';
import { LoadClient } from './load/load-client.ts';
import type { Bench, Measurement } from './measurement.ts';
import type { Options } from './options.ts';
import { say } from './progress.ts';
import { measureRounds, startServer, warmUp } from './rounds.ts';
import { SCENARIOS } from './scenarios.ts';

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

/** Runs all servers at once and measures them in turn, round after round, so that noise affects all alike. */
export async function compare(options: Options, folder: string, cleanup: Cleanup): Promise<Comparison> {
  const { quick, rounds, seconds, connections } = options;
  const database = needsPostgres(options) ? await Database.start(folder, cleanup) : undefined;
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

/** Servers of a quick run, which should take less than a minute. */
const QUICK = ['postern-sqlite', 'oidc-provider'];

function isSelected(options: Options, id: string): boolean {
  if (options.only.length > 0) return options.only.includes(id);
  return !options.quick || QUICK.includes(id);
}

const needsPostgres = (options: Options): boolean =>
  ['postern-postgres', 'oidc-provider', 'oauth2-server'].some((id) => isSelected(options, id));

async function contestants(
  options: Options,
  folder: string,
  database: Database | undefined,
  cleanup: Cleanup,
): Promise<Contestant[]> {
  const servers: Contestant[] = [await floor(cleanup)];
  if (isSelected(options, 'postern-sqlite')) servers.push(await posternOnSqlite(folder, cleanup));
  if (isSelected(options, 'postern-postgres'))
    servers.push(await posternOnPostgres(folder, database!, cleanup));
  if (isSelected(options, 'oidc-provider'))
    servers.push(await oidcProvider(await database!.create('oidc_provider'), cleanup));
  if (isSelected(options, 'oauth2-server'))
    servers.push(await oauth2Server(await database!.create('oauth2_server'), cleanup));
  return servers;
}

/** Starts each server alone, before anything else runs. */
async function measureStarts(servers: readonly Contestant[], starts: number): Promise<number[][]> {
  const all: number[][] = [];
  for (const server of servers) {
    const times: number[] = [];
    for (let i = 0; i < starts; i++) {
      const { children, firstResponseMs } = await startServer(server);
      times.push(firstResponseMs);
      await Promise.all(children.map((child) => child.stop()));
    }
    say(`Cold start of ${server.label}: ${times.map((ms) => Math.round(ms)).join(', ')} ms`);
    all.push(times);
  }
  return all;
}
