import type { Footprint } from './bulk.ts';
import type { Contestant } from './contestants/contestant.ts';
import { check } from './correctness.ts';
import type { Database } from './database.ts';
import type { Requests } from './load/load.ts';
import type { LoadClient } from './load/load-client.ts';
import { type Child, type Usage, usage } from './processes.ts';
import type { ScenarioId } from './scenarios.ts';

/** One run of one scenario against one server. */
export type Measurement = {
  readonly server: string;
  readonly scenario: ScenarioId;
  readonly round: number;
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU microseconds per request, of the server's processes and of PostgreSQL's. */
  readonly serverCpuUs: number;
  readonly databaseCpuUs: number;
  readonly clientCpu: number;
  readonly rssBytes: number;
  /** Growth of the database; rows of bounded tables separately. */
  readonly rowsPer1000: number;
  readonly boundedRowsPer1000: number;
  readonly bytesPer1000: number;
};

export type Bench = {
  readonly load: LoadClient;
  readonly database: Database | undefined;
  readonly connections: number;
};

export type Running = { readonly server: Contestant; readonly children: readonly Child[] };

export async function measure(
  { load, database, connections }: Bench,
  { server, children }: Running,
  run: { scenario: ScenarioId; round: number; seconds: number; requests: Requests },
): Promise<Measurement> {
  const { scenario, round, seconds, requests } = run;
  const footprintBefore = await server.footprint();
  const [serverBefore, databaseBefore] = usages(children, database);
  const result = await load.run({ ports: server.ports, connections, seconds, requests });
  const [serverAfter, databaseAfter] = usages(children, database);
  const added = difference(footprintBefore, await server.footprint());
  await check(server, scenario, result);
  const perRequest = (before: Usage, after: Usage) =>
    ((after.cpuMs - before.cpuMs) * 1000) / result.completed;
  return {
    server: server.id,
    scenario,
    round,
    requests: result.requests,
    perSecond: result.requests / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    maxMs: result.maxMs,
    serverCpuUs: perRequest(serverBefore, serverAfter),
    databaseCpuUs: server.usesPostgres ? perRequest(databaseBefore, databaseAfter) : 0,
    clientCpu: result.clientCpu,
    rssBytes: serverAfter.rssBytes,
    rowsPer1000: (added.rows * 1000) / result.completed,
    boundedRowsPer1000: (added.bounded * 1000) / result.completed,
    bytesPer1000: (added.bytes * 1000) / result.completed,
  };
}

const NONE: Usage = { cpuMs: 0, rssBytes: 0 };

function usages(children: readonly Child[], database: Database | undefined): [Usage, Usage] {
  const ofServer = children
    .map(({ pid }) => usage(pid))
    .reduce((a, b) => ({ cpuMs: a.cpuMs + b.cpuMs, rssBytes: a.rssBytes + b.rssBytes }), NONE);
  return [ofServer, database ? usage(database.pid) : NONE];
}

const difference = (before: Footprint | undefined, after: Footprint | undefined): Footprint =>
  before && after
    ? {
        rows: after.rows - before.rows,
        bounded: after.bounded - before.bounded,
        bytes: after.bytes - before.bytes,
      }
    : { rows: 0, bounded: 0, bytes: 0 };
