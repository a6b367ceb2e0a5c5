import type { Comparison } from '../comparison.ts';
import type { Growth } from '../growth.ts';
import type { Results } from '../results.ts';
import type { ScenarioId } from '../scenarios.ts';
import { median } from '../statistics.ts';
import { summarize, versus } from './summary.ts';
import { short, type Table, whole } from './table.ts';

type Goal = {
  readonly name: string;
  readonly required: number;
  readonly target: number;
  readonly lessIsBetter?: boolean;
  readonly measured: (results: Results) => number;
};

const rateOver = (scenario: ScenarioId, server: string, other: string) => (results: Results) =>
  results.comparison ? versus(results.comparison, scenario, server, other).median : Number.NaN;

const p99Over = (scenario: ScenarioId, server: string, other: string) => (results: Results) =>
  results.comparison ? versus(results.comparison, scenario, server, other, 'p99Ms').median : Number.NaN;

const ofPostern = (figure: (comparison: Comparison) => number) => (results: Results) =>
  results.comparison ? figure(results.comparison) : Number.NaN;

const posterns = ({ servers }: Comparison) => servers.filter(({ id }) => id.startsWith('postern'));

/** Performance goals: what is required and what is aimed for. */
const GOALS: readonly Goal[] = [
  {
    name: 'refresh, SQLite, as a share of the floor',
    required: 0.27,
    target: 0.5,
    measured: rateOver('refresh', 'postern-sqlite', 'floor'),
  },
  {
    name: 'userinfo, SQLite, as a share of the floor',
    required: 0.55,
    target: 0.75,
    measured: rateOver('userinfo', 'postern-sqlite', 'floor'),
  },
  {
    name: 'refresh, PostgreSQL, as a share of the floor',
    required: 0.27,
    target: 0.4,
    measured: rateOver('refresh', 'postern-postgres', 'floor'),
  },
  ...(['refresh', 'userinfo', 'exchange'] as const).map((scenario) => ({
    name: `${scenario}, PostgreSQL, as a multiple of oidc-provider`,
    required: 8,
    target: 12,
    measured: rateOver(scenario, 'postern-postgres', 'oidc-provider'),
  })),
  {
    name: "p99 of refresh, PostgreSQL, as a share of oidc-provider's",
    required: 0.25,
    target: 0.1,
    lessIsBetter: true,
    measured: p99Over('refresh', 'postern-postgres', 'oidc-provider'),
  },
  {
    name: 'RSS under load, MB',
    required: 150,
    target: 110,
    lessIsBetter: true,
    measured: ofPostern((comparison) => {
      const ids = posterns(comparison).map(({ id }) => id);
      const all = summarize(comparison).filter(({ server }) => ids.includes(server));
      return Math.max(...all.map(({ rssBytes }) => rssBytes)) / 1e6;
    }),
  },
  {
    name: 'cold start to first response, ms',
    required: 500,
    target: 250,
    lessIsBetter: true,
    measured: ofPostern((comparison) =>
      Math.max(...posterns(comparison).map(({ coldStartMs }) => median(coldStartMs))),
    ),
  },
  {
    name: 'rows added per 1,000 refreshes',
    required: 0,
    target: 0,
    lessIsBetter: true,
    measured: ofPostern((comparison) => {
      const ids = posterns(comparison).map(({ id }) => id);
      const refreshes = summarize(comparison).filter(({ scenario }) => scenario === 'refresh');
      const left = refreshes
        .filter(({ server }) => ids.includes(server))
        .map(({ rowsPer1000 }) => rowsPer1000);
      return Math.max(...left);
    }),
  },
  {
    name: 'refresh with the most grants, as a share of that with the fewest',
    required: 0.8,
    target: 0.95,
    measured: ({ growth, growthOnPostgres }) =>
      Math.min(...[growth, growthOnPostgres].flatMap((one) => (one ? flatness(one) : []))),
  },
];

function flatness(growth: Growth): number {
  const [smallest, largest] = [growth.steps[0]!, growth.steps.at(-1)!];
  return versus(growth, 'refresh', largest.server, smallest.server).median;
}

export function goalsTable(results: Results): Table {
  return {
    title: 'Goals',
    columns: ['goal', 'required', 'target', 'measured', 'status'],
    rows: GOALS.map(({ name, required, target, lessIsBetter = false, measured }) => {
      const value = measured(results);
      return [
        name,
        goal(required),
        goal(target),
        short(value),
        status(value, required, target, lessIsBetter),
      ];
    }),
  };
}

const goal = (value: number): string => (Number.isInteger(value) ? whole(value) : String(value));

function status(value: number, required: number, target: number, lessIsBetter: boolean): string {
  if (!Number.isFinite(value)) return 'not measured';
  const meets = (limit: number) => (lessIsBetter ? value <= limit : value >= limit);
  if (meets(target)) return 'target reached';
  return meets(required) ? 'met' : 'missed';
}
