import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../src/store/store.ts';
import type { Bulk } from './bulk.ts';
import type { Cleanup } from './cleanup.ts';
import type { Contestant } from './contestants/contestant.ts';
import { floor } from './contestants/floor.ts';
import { Postern } from './contestants/postern.ts';
import { Database } from './database.ts';
import { LoadClient } from './load/load-client.ts';
import type { Measurement } from './measurement.ts';
import type { Options } from './options.ts';
import { say } from './progress.ts';
import { measureRounds, startServer, warmUp } from './rounds.ts';
import { rotation, SCENARIOS, type Scenario } from './scenarios.ts';
import { type SeededGrant, seed } from './seeding.ts';
import { median } from './statistics.ts';

export type Growth = {
  readonly engine: 'sqlite' | 'postgres';
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly steps: readonly GrowthStep[];
  readonly measurements: readonly Measurement[];
};

/** One size of database. */
export type GrowthStep = {
  readonly server: string;
  readonly grants: number;
  readonly bytesPerGrant: number;
  readonly seededPerSecond: number;
  /** One step of the sweeper, a thousand grants looked at. */
  readonly sweepStepMs: number;
};

/** Chains that a run rotates: enough of them that the rows in use are all over the table. */
const CHAINS = 8_192;
const SWEEP_STEPS = 50;
const SWEPT_A_STEP = 1_000;

/** Databases of several sizes, each with its own Postern, in interleaved rounds. */
export async function growth(options: Options, folder: string, cleanup: Cleanup): Promise<Growth> {
  const { rounds, seconds, connections, engine } = options;
  const database = engine === 'postgres' ? await Database.start(folder, cleanup) : undefined;
  const servers: Contestant[] = [await floor(cleanup)];
  const steps: GrowthStep[] = [];
  for (const grants of options.sizes) {
    const url = (name: string, dataDir: string) =>
      database ? database.create(name) : `sqlite:${join(dataDir, 'postern.db')}`;
    const { server, step } = await grown(grants, url, folder, cleanup);
    servers.push(server);
    steps.push(step);
  }
  const running = await Promise.all(servers.map(startServer));
  const bench = { load: await LoadClient.start(cleanup), database, connections };
  const estimates = await warmUp(bench, running, WIDE, Math.min(seconds, 1));
  const measurements = await measureRounds(bench, running, WIDE, estimates, { rounds, seconds });
  return { ...{ engine, rounds, seconds, connections, steps, measurements } };
}

/** The scenarios of the comparison, but rotating many chains and not one a connection. */
const WIDE: Scenario[] = SCENARIOS.filter(({ id }) => id !== 'introspect').map((scenario) =>
  scenario.id === 'refresh'
    ? { ...scenario, prepare: async (server) => rotation(server, await server.refreshTokens(CHAINS)) }
    : scenario,
);

type UrlOf = (name: string, dataDir: string) => Promise<string> | string;

async function grown(
  grants: number,
  urlOf: UrlOf,
  folder: string,
  cleanup: Cleanup,
): Promise<{ server: Contestant; step: GrowthStep }> {
  const id = `grants_${grants}`;
  const label = `${grants.toLocaleString('en-US')} grants`;
  const dataDir = join(folder, id);
  mkdirSync(dataDir);
  const databaseUrl = await urlOf(id, dataDir);
  const postern = await Postern.prepare({ id, label, databaseUrl, dataDir }, cleanup);
  const { bulk } = postern;
  const { sample, seconds } = await seed(bulk, grants, label);
  await bulk.settle();
  const { bytes } = await bulk.footprint({ table: 'grants' });
  const sweepStepMs = await sweeperStep(databaseUrl, sample);
  const step = {
    server: id,
    grants,
    bytesPerGrant: bytes / grants,
    seededPerSecond: grants / seconds,
    sweepStepMs,
  };
  say(
    `${label}: ${Math.round(step.bytesPerGrant)} bytes each; a sweeper's step takes ${sweepStepMs.toFixed(1)} ms`,
  );
  return { server: onSeeded(postern, sample), step };
}

/** Postern whose tokens are of the grants that were seeded, wherever in the table they lie. */
function onSeeded(postern: Postern, sample: readonly SeededGrant[]): Contestant {
  postern.useUsers(sample.map(({ userId }) => userId));
  let index = 0;
  const live = async (count: number) => {
    const some = Array.from(
      { length: Math.min(count, sample.length) },
      () => sample[index++ % sample.length]!,
    );
    return generations(postern.bulk, some);
  };
  return {
    ...{
      id: postern.id,
      label: postern.label,
      ports: postern.ports,
      client: postern.client,
      paths: postern.paths,
      introspector: postern.introspector,
    },
    usesPostgres: postern.usesPostgres,
    start: () => postern.start(),
    codes: (count) => postern.codes(count),
    // A run that uses tokens up gets grants of its own: what was seeded is to stay.
    refreshTokens: async (count) =>
      count === CHAINS
        ? (await live(count)).map((one) => postern.refreshToken(one.userId, one.grantId, one.generation))
        : postern.refreshTokens(count),
    accessTokens: async (count) =>
      (await live(count)).map((one) => postern.accessToken(one.userId, one.grantId, one.generation)),
    // Counting millions of rows before and after each run would be a load of its own.
    footprint: async () => undefined,
    close: () => postern.close(),
  };
}

/** Earlier runs rotated them: where they stand now. Those that the checks of a run have cut are left out. */
async function generations(
  bulk: Bulk,
  grants: readonly SeededGrant[],
): Promise<(SeededGrant & { generation: number })[]> {
  const found: (SeededGrant & { generation: number })[] = [];
  for (let start = 0; start < grants.length; start += SWEPT_A_STEP) {
    const keys = grants
      .slice(start, start + SWEPT_A_STEP)
      .map(({ userId, grantId }) => `('${userId}','${grantId}')`);
    const rows = await bulk.ask(
      `SELECT user_id, id, generation FROM grants
        WHERE (user_id, id) IN (VALUES ${keys.join(',')}) AND revoked_at IS NULL`,
    );
    for (const row of rows)
      found.push({
        userId: String(row.user_id),
        grantId: String(row.id),
        generation: Number(row.generation),
      });
  }
  return found;
}

/** Nothing has expired: this is what the sweeper costs while it only looks, which is nearly always. */
async function sweeperStep(databaseUrl: string, sample: readonly SeededGrant[]): Promise<number> {
  const store = openStore(databaseUrl);
  const times: number[] = [];
  const stride = Math.max(1, Math.floor(sample.length / SWEEP_STEPS));
  for (let i = 0; i < sample.length; i += stride) {
    const startedAt = performance.now();
    await store.grants.sweep(sample[i]!, SWEPT_A_STEP, Date.now() - 3_600_000, Date.now());
    times.push(performance.now() - startedAt);
  }
  await store.close();
  return median(times);
}
