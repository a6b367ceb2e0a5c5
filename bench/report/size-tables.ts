import type { Growth } from '../growth.ts';
import type { Scale } from '../scale.ts';
import { SCENARIOS } from '../scenarios.ts';
import { type Measured, type Summary, summarize, versus } from './summary.ts';
import { megabytes, ratio, short, type Table, whole } from './table.ts';

export function growthTables(growth: Growth): Table[] {
  const smallest = growth.steps[0]!.server;
  const labels = new Map(growth.steps.map(({ server, grants }) => [server, `${whole(grants)} grants`]));
  return [
    ...scenarioTables(growth, labels, smallest),
    {
      title: 'Size and sweeping',
      columns: ['database', 'bytes per grant', 'seeded/s', 'sweeper step of 1,000 grants, ms'],
      rows: growth.steps.map(({ server, bytesPerGrant, seededPerSecond, sweepStepMs }) => [
        ...[labels.get(server)!, whole(bytesPerGrant), whole(seededPerSecond), short(sweepStepMs)],
      ]),
    },
  ];
}

export function scaleTables(scale: Scale): Table[] {
  const servers = scale.servers.filter(({ id }) => id !== 'floor');
  return scenarioTables(scale, new Map(servers.map(({ id, label }) => [id, label])), servers[0]!.id);
}

/** The same figures for each server, compared with the first one. */
function scenarioTables(measured: Measured, labels: ReadonlyMap<string, string>, first: string): Table[] {
  const summaries = summarize(measured);
  return SCENARIOS.flatMap(({ id, label }) => {
    const rows = [...labels.keys()].flatMap((server) =>
      summaries.filter((one) => one.scenario === id && one.server === server),
    );
    if (rows.length === 0) return [];
    const row = (one: Summary) => [
      ...[labels.get(one.server)!, whole(one.perSecond.median)],
      ...[ratio(versus(measured, id, one.server, first).median), ratio(one.ofFloor.median)],
      ...[
        short(one.p50Ms),
        short(one.p99Ms),
        whole(one.serverCpuUs),
        whole(one.databaseCpuUs),
        megabytes(one.rssBytes),
      ],
    ];
    const columns = [
      'requests/s',
      'of first row',
      'of floor',
      'p50 ms',
      'p99 ms',
      'CPU µs server',
      'CPU µs database',
      'RSS',
    ];
    return [
      { title: label[0]!.toUpperCase() + label.slice(1), columns: ['', ...columns], rows: rows.map(row) },
    ];
  });
}
