import { writeFileSync } from 'node:fs';
import type { Recorded, Results } from '../results.ts';
import { chart } from './chart.ts';
import { comparisonTables } from './comparison-tables.ts';
import { goalsTable } from './goals.ts';
import { growthTables, scaleTables } from './size-tables.ts';
import { type Table, toMarkdown } from './table.ts';

const PAGE = new URL('../../docs/benchmarks.md', import.meta.url);
const CHART = new URL('../../docs/benchmarks.svg', import.meta.url);

/** Writes docs/benchmarks.md and its chart from the raw data alone. */
export function writePage(results: Results): void {
  const { comparison, growth, growthOnPostgres, scale } = results;
  const parts = ['# Benchmarks\n', INTRODUCTION];
  if (comparison) {
    writeFileSync(CHART, chart(comparison));
    parts.push('![Requests per second as a share of bare node:http](benchmarks.svg)\n');
    parts.push(circumstances(comparison, comparison.postgres));
  }
  parts.push('## Goals\n', toMarkdown(goalsTable(results)));
  if (comparison) parts.push('## Side by side\n', METHOD, ...sections(comparisonTables(comparison)), PEERS);
  for (const grown of [growth, growthOnPostgres]) {
    if (!grown) continue;
    const engine = grown.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
    parts.push(`## Growth on ${engine}\n`, GROWTH, circumstances(grown), ...sections(growthTables(grown)));
  }
  if (scale) parts.push('## Scale\n', SCALE, circumstances(scale), ...sections(scaleTables(scale)));
  writeFileSync(PAGE, parts.join('\n'));
}

const sections = (tables: readonly Table[]): string[] =>
  tables.flatMap((table) => [`### ${table.title}\n`, toMarkdown(table)]);

function circumstances({ at, machine }: Recorded<object>, postgres?: string): string {
  const { cores, memoryGb, kernel, node, load } = machine;
  const database = postgres ? `, PostgreSQL ${postgres}` : '';
  return (
    `Measured ${at.slice(0, 10)} on ${cores} cores with ${memoryGb} GB, Linux ${kernel}, Node ${node.slice(1)}${database}; ` +
    `load average before the run ${load}.${load > cores / 2 ? ` ${BUSY}` : ''}\n`
  );
}

const BUSY = '**The machine was busy with other work: use only the ratios, and consider their range.**';

const INTRODUCTION = `<!-- Written by \`npm run bench\` from bench/results/latest.json. Do not edit: run it again. -->
\`npm run bench\` measures Postern and other OAuth servers on one machine, in one run. Compare the ratios: absolute
figures depend on the machine, and the load client and the database share its cores with the server under test.
`;

const METHOD = `All servers run at the same time. In each round, each scenario is measured on each server in turn, and
another server starts in each round, so that other work on the machine affects all of them alike. A warm-up round is
discarded. Figures are medians over the rounds; ratios are taken within a round, then their median. The range is the
minimum and maximum over all rounds.

Each connection sends one request at a time. In *refresh*, each connection rotates its own grant. *Code exchange* and
*revoke* use codes and tokens created in advance, each once. *Userinfo* and *introspection* cycle through a thousand
active tokens. CPU is the time of all processes of the server, and of PostgreSQL. *Bounded tables* are Postern's request
log and usage counts, which developers read on the dashboard: at most 20 entries per second and 2,000 in total per
application, whatever the traffic.

After every run the responses are checked: all must be 200, and for a sample, issued tokens work, a used refresh token or
code is refused with \`invalid_grant\` (and its grant is revoked), and a revoked token is refused. A wrong response fails
the benchmark.
`;

const PEERS = `### Servers

- **The floor**: a bare \`node:http\` server that parses the same form with \`node:querystring\` and returns a constant
  of a token response's size. No checks, no database.
- **Postern**: \`bin/postern serve\` as installed, with its log on (info, to /dev/null), on SQLite with
  \`synchronous=FULL\` or on PostgreSQL. Only \`POSTERN_RATE_LIMIT\` is raised.
- **oidc-provider 9**: \`NODE_ENV=production\`, no development interactions, an adapter with one prepared statement per
  call on one table with an index on the grant, the client in memory, opaque tokens, rotating refresh tokens. Refresh and
  exchange run without the \`openid\` scope, so it signs no ID token.
- **@node-oauth/oauth2-server 5**: a library, here behind a bare \`node:http\` server. One prepared statement per call of
  its model, both new tokens in one, the client in memory, rotating refresh tokens. It has neither revocation nor reuse
  detection.
- All use the same Node and the same PostgreSQL (fsync and synchronous_commit on, 256 MB shared buffers), each its own
  database. Only Postern counts requests against a rate limit.
`;

const GROWTH = `Databases of different sizes, each with its own Postern, in interleaved rounds as above. Here *refresh*
rotates 8,192 grants spread over the whole table. Grants were seeded in key order, four per user.
`;

const SCALE = `Postern on PostgreSQL in several processes. The load client and PostgreSQL need cores too, so on two cores a
second process gains nothing.
`;
