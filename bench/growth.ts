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
  /** Duration of one sweeper step, which scans 1,000 grants. */
  readonly sweepStepMs: number;
};

/** Grants that a run rotates: enough to spread the rows in use over the whole table. */
const ROTATED_GRANTS = 8_192;
const SWEEP_STEPS = 50;
const GRANTS_PER_STEP = 1_000;

/** Measures databases of several sizes, each with its own Postern, in interleaved rounds. */
export async function growth(options: Options, folder: string, cleanup: Cleanup): Promise<Growth> {
  const { rounds, seconds, connections, engine } = options;
  const database = engine === 'postgres' ? await Database.start(folder, cleanup) : undefined;
  const servers: Contestant[] = [await floor(cleanup)];
  const steps: GrowthStep[] = [];
  for (const grants of options.sizes) {
    const url = (name: string, dataDir: string) =>
      database ? database.create(name) : `sqlite:${join(dataDir, 'postern.db')}`;
    const { server, step } = await prepareSize(grants, url, folder, cleanup);
    servers.push(server);
    steps.push(step);
  }
  const running = await Promise.all(servers.map(startServer));
  const bench = { load: await LoadClient.start(cleanup), database, connections };
  const estimates = await warmUp(bench, running, WIDE_SCENARIOS, Math.min(seconds, 1));
  const measurements = await measureRounds(bench, running, WIDE_SCENARIOS, estimates, { rounds, seconds });
  return { ...{ engine, rounds, seconds, connections, steps, measurements } };
}

/** The scenarios of the comparison, but rotating many grants instead of one per connection. */
const WIDE_SCENARIOS: Scenario[] = SCENARIOS.filter(({ id }) => id !== 'introspect').map((scenario) =>
  scenario.id === 'refresh'
    ? { ...scenario, prepare: async (server) => rotation(server, await server.refreshTokens(ROTATED_GRANTS)) }
    : scenario,
);

type UrlOf = (name: string, dataDir: string) => Promise<string> | string;

async function prepareSize(
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
  const sweepStepMs = await measureSweeperStep(databaseUrl, sample);
  const step = {
    server: id,
    grants,
    bytesPerGrant: bytes / grants,
    seededPerSecond: grants / seconds,
    sweepStepMs,
  };
  say(
    `${label}: ${Math.round(step.bytesPerGrant)} bytes each; a sweeper step takes ${sweepStepMs.toFixed(1)} ms`,
  );
  return { server: withSeededGrants(postern, sample), step };
}

/** Postern with tokens of seeded grants, which are spread over the table. */
function withSeededGrants(postern: Postern, sample: readonly SeededGrant[]): Contestant {
  postern.useUsers(sample.map(({ userId }) => userId));
  let index = 0;
  const nextGrants = async (count: number) => {
    const chosen = Array.from(
      { length: Math.min(count, sample.length) },
      () => sample[index++ % sample.length]!,
    );
    return currentGenerations(postern.bulk, chosen);
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
    // A run that consumes tokens gets new grants, so that the seeded ones stay.
    refreshTokens: async (count) =>
      count === ROTATED_GRANTS
        ? (await nextGrants(count)).map((grant) =>
            postern.refreshToken(grant.userId, grant.grantId, grant.generation),
          )
        : postern.refreshTokens(count),
    accessTokens: async (count) =>
      (await nextGrants(count)).map((grant) =>
        postern.accessToken(grant.userId, grant.grantId, grant.generation),
      ),
    // Counting millions of rows before and after each run would distort the measurement.
    footprint: async () => undefined,
    close: () => postern.close(),
  };
}

/** Generations after the rotations of earlier runs, without the grants that the correctness checks revoked. */
async function currentGenerations(
  bulk: Bulk,
  grants: readonly SeededGrant[],
): Promise<(SeededGrant & { generation: number })[]> {
  const current: (SeededGrant & { generation: number })[] = [];
  for (let start = 0; start < grants.length; start += GRANTS_PER_STEP) {
    const keys = grants
      .slice(start, start + GRANTS_PER_STEP)
      .map(({ userId, grantId }) => `('${userId}','${grantId}')`);
    const rows = await bulk.query(
      `SELECT user_id, id, generation FROM grants
        WHERE (user_id, id) IN (VALUES ${keys.join(',')}) AND revoked_at IS NULL`,
    );
    for (const row of rows)
      current.push({
        userId: String(row.user_id),
        grantId: String(row.id),
        generation: Number(row.generation),
      });
  }
  return current;
}

/** Nothing has expired, so this is the cost of a scan that finds nothing, by far the most common one. */
async function measureSweeperStep(databaseUrl: string, sample: readonly SeededGrant[]): Promise<number> {
  const store = openStore(databaseUrl);
  const times: number[] = [];
  const stride = Math.max(1, Math.floor(sample.length / SWEEP_STEPS));
  for (let i = 0; i < sample.length; i += stride) {
    const startedAt = performance.now();
    await store.grants.sweep(sample[i]!, GRANTS_PER_STEP, Date.now() - 3_600_000, Date.now());
    times.push(performance.now() - startedAt);
  }
  await store.close();
  return median(times);
}
