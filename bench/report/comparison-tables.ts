import type { Comparison } from '../comparison.ts';
import { SCENARIOS, type ScenarioId } from '../scenarios.ts';
import { median, type Spread } from '../statistics.ts';
import { type Summary, summarize, versus } from './summary.ts';
import { megabytes, ratio, short, type Table, times, whole } from './table.ts';

const PEERS = ['oidc-provider', 'oauth2-server'];

/** One table per scenario, one for memory, startup and storage, one for the load client. */
export function comparisonTables(comparison: Comparison): Table[] {
  const summaries = summarize(comparison);
  const measured = SCENARIOS.filter(({ id }) => summaries.some(({ scenario }) => scenario === id));
  return [
    ...measured.map(({ id, label }) => scenarioTable(comparison, id, label, summaries)),
    footprintTable(comparison, summaries),
    clientTable(comparison, summaries),
  ];
}

const range = ({ min, max }: Spread, format: (value: number) => string): string =>
  `${format(min)}–${format(max)}`;

function scenarioTable(
  comparison: Comparison,
  id: ScenarioId,
  label: string,
  all: readonly Summary[],
): Table {
  const summaries = inOrder(
    comparison,
    all.filter(({ scenario }) => scenario === id),
  );
  const peers = PEERS.filter((peer) => summaries.some(({ server }) => server === peer));
  return {
    title: capital(label),
    columns: [
      ...['server', 'requests/s', 'range', 'of floor', 'range'],
      ...peers.map((peer) => `× ${peer}`),
      ...['p50 ms', 'p99 ms', 'CPU µs server', 'CPU µs database'],
    ],
    rows: summaries.map((one) => [
      labelOf(comparison, one.server),
      whole(one.perSecond.median),
      range(one.perSecond, whole),
      ratio(one.ofFloor.median),
      range(one.ofFloor, ratio),
      ...peers.map((peer) => times(versus(comparison, id, one.server, peer).median)),
      short(one.p50Ms),
      short(one.p99Ms),
      whole(one.serverCpuUs),
      one.databaseCpuUs === 0 ? '–' : whole(one.databaseCpuUs),
    ]),
  };
}

function footprintTable(comparison: Comparison, summaries: readonly Summary[]): Table {
  const refreshes = inOrder(
    comparison,
    summaries.filter(({ scenario }) => scenario === 'refresh'),
  );
  return {
    title: 'Memory, startup and storage',
    columns: [
      'server',
      'max RSS under load',
      'cold start ms',
      'rows per 1,000 refreshes',
      'rows in bounded tables',
      'bytes per 1,000 refreshes',
    ],
    rows: refreshes.map(({ server, rowsPer1000, boundedRowsPer1000, bytesPer1000 }) => {
      const { coldStartMs } = comparison.servers.find(({ id }) => id === server)!;
      const rss = Math.max(
        ...summaries.filter((one) => one.server === server).map(({ rssBytes }) => rssBytes),
      );
      const left =
        server === 'floor'
          ? ['–', '–', '–']
          : [whole(rowsPer1000), whole(boundedRowsPer1000), whole(bytesPer1000)];
      return [labelOf(comparison, server), megabytes(rss), whole(median(coldStartMs)), ...left];
    }),
  };
}

function clientTable(comparison: Comparison, summaries: readonly Summary[]): Table {
  const share = (value: number) => `${Math.round(value * 100)} %`;
  const rows = inOrder(
    comparison,
    summaries.filter(({ scenario }) => ['refresh', 'userinfo'].includes(scenario)),
  );
  const { client } = comparison;
  const compared = client
    ? [
        ['floor GET, this client', whole(client.ours.perSecond), share(client.ours.clientCpu)],
        ['floor GET, autocannon', whole(client.autocannon.perSecond), '–'],
      ]
    : [];
  return {
    title: 'CPU of the load client, as a share of one core',
    columns: ['run', 'requests/s', 'client CPU'],
    rows: [
      ...rows.map((one) => [
        `${one.scenario}, ${labelOf(comparison, one.server)}`,
        whole(one.perSecond.median),
        share(one.clientCpu),
      ]),
      ...compared,
    ],
  };
}

function inOrder(comparison: Comparison, summaries: readonly Summary[]): Summary[] {
  return comparison.servers.flatMap(({ id }) => summaries.filter(({ server }) => server === id));
}

export const labelOf = (comparison: Comparison, id: string): string =>
  comparison.servers.find((server) => server.id === id)?.label ?? id;

const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1);
