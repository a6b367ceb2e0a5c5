import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PLACEMENTS } from '../../src/store/citus.ts';

const NAME = /`([a-z_]+)`/g;
const namesIn = (text: string): string[] => [...text.matchAll(NAME)].map(([, name]) => name!);

/** Placements as the table of docs/scale.md lists them; `group` is equal for tables that share shards. */
function documentedPlacements(): Map<string, { by?: string; group?: string; placement?: string }> {
  const document = readFileSync(new URL('../../docs/scale.md', import.meta.url), 'utf8');
  const table = /\| tables \| where \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(document)![1]!;
  const placements = new Map<string, { by?: string; group?: string; placement?: string }>();
  for (const line of table.trim().split('\n')) {
    const [, tables, where] = line.split('|').map((cell) => cell.trim());
    const all = namesIn(tables!.replaceAll(/ by `[a-z_]+`/g, ''));
    for (const part of tables!.split(';')) {
      const [names, by] = part.split(' by ');
      for (const name of namesIn(names!)) {
        assert.ok(!placements.has(name), `${name} is listed twice`);
        if (where!.startsWith('every server')) placements.set(name, { placement: 'everywhere' });
        else
          placements.set(name, {
            by: namesIn(by!)[0]!,
            group: where!.endsWith('on one shard') ? all[0]! : name,
          });
      }
    }
  }
  return placements;
}

test('docs/scale.md lists the placement of every table', () => {
  const expected = Object.entries(PLACEMENTS).map(
    ([name, placement]) =>
      [name, 'by' in placement ? { by: placement.by, group: placement.with ?? name } : placement] as const,
  );
  assert.deepEqual(documentedPlacements(), new Map(expected));
});
