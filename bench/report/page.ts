import { writeFileSync } from 'node:fs';
import type { Recorded, Results } from '../results.ts';
import { chart } from './chart.ts';
import { comparisonTables } from './comparison-tables.ts';
import { goalsTable } from './goals.ts';
import { growthTables, scaleTables } from './size-tables.ts';
import { type Table, toMarkdown } from './table.ts';

const PAGE = new URL('../../docs/benchmarks.md', import.meta.url);
const CHART = new URL('../../docs/benchmarks.svg', import.meta.url);

/** docs/benchmarks.md and its chart, from the raw data and from nothing else. */
export function writePage(results: Results): void {
  const { comparison, growth, growthOnPostgres, scale } = results;
  const parts = ['# Benchmarks\n', INTRODUCTION];
  if (comparison) {
    writeFileSync(CHART, chart(comparison));
    parts.push('![Requests a second as a share of bare node:http](benchmarks.svg)\n');
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

const BUSY =
  '**The machine was busy with other work: read nothing here but the ratios, and those with their spread.**';

const INTRODUCTION = `<!-- Written by \`npm run bench\` from bench/results/latest.json. Do not edit: run it again. -->
\`npm run bench\` runs Postern beside what people use today, on one machine, in one run. Read the ratios: absolute
figures depend on the machine, and the load client and the database share its cores with the server under test.
`;

const METHOD = `All servers are up at once. In each round each scenario visits each server in turn, and who comes first changes
with the round, so that whatever else the machine does hits all alike. A round before the first warms up and is thrown
away. Figures are medians over the rounds; ratios are taken within a round, then their median. The spread is the least
and the most of all rounds. Each connection has one request under way at a time. In *refresh* each connection rotates
its own chain of tokens; *code exchange* and *revoke* use codes and tokens made in advance, each once; *userinfo* and
*introspection* go through a thousand live tokens. CPU is that of all processes of the server, and of PostgreSQL.
Rows *in bounded logs* are Postern's request log and usage counts, which developers read on their dashboards: at most 20
entries a second and 2,000 in all of one application, however many requests there are.

After every run the answers are checked: all were 200, and of a sample the tokens issued work, a used refresh token or
code is refused with \`invalid_grant\` (and has cut its family), a revoked one is gone. A wrong answer fails the bench.
`;

const PEERS = `### Who is compared

- **The floor**: a bare \`node:http\` server that parses the same form with \`node:querystring\` and answers a constant
  of a token response's size. No check, no database.
- **Postern**: \`bin/postern serve\` as installed, with its log on (info, to /dev/null), SQLite with \`synchronous=FULL\`
  or PostgreSQL; only \`POSTERN_RATE_LIMIT\` is set out of the way.
- **oidc-provider 9**: \`NODE_ENV=production\`, no development interactions, an adapter of one prepared statement a call
  on one table with an index on the grant, the client in memory, opaque tokens, rotating refresh tokens. Refresh and
  exchange run without the \`openid\` scope, so that it has no ID token to sign.
- **@node-oauth/oauth2-server 5**: a library, here behind a bare \`node:http\` server: one prepared statement a question
  of its model, both new tokens in one, the client in memory, rotating refresh tokens. It has neither revocation nor
  reuse detection.
- All on the same Node and the same PostgreSQL (fsync and synchronous_commit on, 256 MB shared buffers), a database
  each. Nobody but Postern counts requests against a limit.
`;

const GROWTH = `A Postern each on databases of different size, in interleaved rounds as above. Here *refresh* rotates 8,192 chains
that lie all over the table. Grants were seeded in the order of their keys, four a user.
`;

const SCALE = `Postern on PostgreSQL in more than one process. The load client and PostgreSQL need cores too, so on two cores a
second process has little to take.
`;
