import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import type { Contestant } from './contestants/contestant.ts';
import { floor } from './contestants/floor.ts';
import { Postern } from './contestants/postern.ts';
import { Database } from './database.ts';
import { LoadClient } from './load/load-client.ts';
import type { Measurement } from './measurement.ts';
import type { Options } from './options.ts';
import { measureRounds, startServer, warmUp } from './rounds.ts';
import { SCENARIOS } from './scenarios.ts';

export type Scale = {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly servers: readonly { id: string; label: string }[];
  readonly measurements: readonly Measurement[];
};

const CONFIGURATIONS = [
  { id: 'one-worker', label: 'one worker', serveArguments: ['--workers', '1'], nodes: 1 },
  { id: 'two-workers', label: 'two workers', serveArguments: ['--workers', '2'], nodes: 1 },
  { id: 'two-nodes', label: 'two nodes', serveArguments: [], nodes: 2 },
] as const;

/** Measures Postern on PostgreSQL with several processes, each configuration on its own database. */
export async function scale(options: Options, folder: string, cleanup: Cleanup): Promise<Scale> {
  const { rounds, seconds, connections } = options;
  const database = await Database.start(folder, cleanup);
  const servers: Contestant[] = [await floor(cleanup)];
  for (const configuration of CONFIGURATIONS)
    servers.push(await prepare(configuration, folder, database, cleanup));
  const running = await Promise.all(servers.map(startServer));
  const bench = { load: await LoadClient.start(cleanup), database, connections };
  const scenarios = SCENARIOS.filter(({ id }) => id !== 'introspect');
  const estimates = await warmUp(bench, running, scenarios, Math.min(seconds, 1));
  const measurements = await measureRounds(bench, running, scenarios, estimates, { rounds, seconds });
  return {
    ...{ rounds, seconds, connections, measurements },
    servers: servers.map(({ id, label }) => ({ id, label })),
  };
}

async function prepare(
  { id, label, serveArguments, nodes }: (typeof CONFIGURATIONS)[number],
  folder: string,
  database: Database,
  cleanup: Cleanup,
): Promise<Postern> {
  const dataDir = join(folder, id);
  mkdirSync(dataDir);
  const databaseUrl = await database.create(id.replace('-', '_'));
  return Postern.prepare({ id, label, databaseUrl, dataDir, serveArguments, nodes }, cleanup);
}
