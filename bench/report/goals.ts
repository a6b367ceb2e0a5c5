import type { Comparison } from '../comparison.ts';
import type { Growth } from '../growth.ts';
import type { Results } from '../results.ts';
import type { ScenarioId } from '../scenarios.ts';
import { median } from '../statistics.ts';
import { summarize, versus } from './summary.ts';
import { short, type Table, whole } from './table.ts';

type Goal = {
  readonly what: string;
  readonly least: number;
  readonly reach: number;
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

/** What Postern set out to reach, and where it stands. */
const GOALS: readonly Goal[] = [
  {
    what: 'refresh, SQLite, of floor',
    least: 0.27,
    reach: 0.5,
    measured: rateOver('refresh', 'postern-sqlite', 'floor'),
  },
  {
    what: 'userinfo, SQLite, of floor',
    least: 0.55,
    reach: 0.75,
    measured: rateOver('userinfo', 'postern-sqlite', 'floor'),
  },
  {
    what: 'refresh, PostgreSQL, of floor',
    least: 0.27,
    reach: 0.4,
    measured: rateOver('refresh', 'postern-postgres', 'floor'),
  },
  ...(['refresh', 'userinfo', 'exchange'] as const).map((scenario) => ({
    what: `${scenario}, PostgreSQL, times oidc-provider`,
    least: 8,
    reach: 12,
    measured: rateOver(scenario, 'postern-postgres', 'oidc-provider'),
  })),
  {
    what: "p99 of refresh, PostgreSQL, of oidc-provider's",
    least: 0.25,
    reach: 0.1,
    lessIsBetter: true,
    measured: p99Over('refresh', 'postern-postgres', 'oidc-provider'),
  },
  {
    what: 'RSS under load, MB',
    least: 150,
    reach: 110,
    lessIsBetter: true,
    measured: ofPostern((comparison) => {
      const ids = posterns(comparison).map(({ id }) => id);
      const all = summarize(comparison).filter(({ server }) => ids.includes(server));
      return Math.max(...all.map(({ rssBytes }) => rssBytes)) / 1e6;
    }),
  },
  {
    what: 'cold start to first answer, ms',
    least: 500,
    reach: 250,
    lessIsBetter: true,
    measured: ofPostern((comparison) =>
      Math.max(...posterns(comparison).map(({ coldStartMs }) => median(coldStartMs))),
    ),
  },
  {
    what: 'rows left per 1,000 refreshes',
    least: 0,
    reach: 0,
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
    what: 'refresh rate with the most grants, of that with the fewest',
    least: 0.8,
    reach: 0.95,
    measured: ({ growth, growthOnPostgres }) =>
      Math.min(...[growth, growthOnPostgres].flatMap((one) => (one ? flatness(one) : []))),
  },
];

function flatness(growth: Growth): number {
  const [least, most] = [growth.steps[0]!, growth.steps.at(-1)!];
  return versus(growth, 'refresh', most.server, least.server).median;
}

export function goalsTable(results: Results): Table {
  return {
    title: 'Goals',
    columns: ['goal', 'at least', 'reach for', 'measured', ''],
    rows: GOALS.map(({ what, least, reach, lessIsBetter = false, measured }) => {
      const value = measured(results);
      return [what, goal(least), goal(reach), short(value), verdict(value, least, reach, lessIsBetter)];
    }),
  };
}

const goal = (value: number): string => (Number.isInteger(value) ? whole(value) : String(value));

function verdict(value: number, least: number, reach: number, lessIsBetter: boolean): string {
  if (!Number.isFinite(value)) return 'not measured';
  const meets = (mark: number) => (lessIsBetter ? value <= mark : value >= mark);
  if (meets(reach)) return 'reached';
  return meets(least) ? 'met' : 'missed';
}
