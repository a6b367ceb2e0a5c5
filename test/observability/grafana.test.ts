import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Metrics } from '../../src/observability/metrics.ts';
import { Samples } from './samples.ts';

const DOCS = join(import.meta.dirname, '../../docs');

type Dashboard = {
  panels: { title: string; targets?: { expr: string }[] }[];
  templating: { list: { query?: string }[] };
};

/** A scrape in which everything has happened once. */
async function everything(): Promise<Samples> {
  const metrics = new Metrics();
  metrics.requestCompleted({ method: 'GET', route: '/', status: 400, error: 'invalid_grant', seconds: 1 });
  metrics.rateLimited('client');
  metrics.grantRevoked('code_replay');
  metrics.databaseCompleted('read', 1);
  metrics.grantsCounted(1);
  metrics.clockCompared(1);
  metrics.logEntriesDropped(1);
  return new Samples(await metrics.text());
}

const METRIC = /\b(?:postern|nodejs|process)_\w+/g;
const LABELS_OF_A_SCRAPE = ['job', 'instance', 'le'];

test('every expression of the Grafana dashboard uses metrics and labels that exist', async () => {
  const { panels, templating } = JSON.parse(readFileSync(join(DOCS, 'grafana.json'), 'utf8')) as Dashboard;
  const samples = await everything();
  const queries = [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...templating.list.map(({ query = '' }) => query),
  ];
  assert.ok(queries.length > 15);
  for (const query of queries) {
    for (const [metric] of query.matchAll(METRIC)) {
      assert.ok(samples.names.has(metric), `${metric} in ${query}`);
      const known = [...samples.labelNames(metric), ...LABELS_OF_A_SCRAPE];
      const used = [...query.matchAll(/(\w+)(?:=~|!=|=)"|by \(([^)]*)\)/g)].flatMap(([, name, list]) =>
        (name ?? list!).split(',').map((label) => label.trim()),
      );
      for (const label of used) assert.ok(known.includes(label), `${label} in ${query}`);
    }
  }
});

test('docs/metrics.md explains every metric of Postern, and no other', async () => {
  const page = readFileSync(join(DOCS, 'metrics.md'), 'utf8');
  const told = new Set([...page.matchAll(/`(postern_\w+)/g)].map(([, name]) => name!));
  const real = [...(await everything()).names]
    .filter((name) => name.startsWith('postern_'))
    .map((name) => name.replace(/_seconds_(bucket|sum|count)$/, '_seconds'));
  assert.deepEqual([...told].sort(), [...new Set(real)].sort());
});
