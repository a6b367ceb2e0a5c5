import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('docs/settings.md has a row for every setting, and for no other', () => {
  const documented = [...read('docs/settings.md').matchAll(/^\| `(POSTERN_\w+)` \|/gm)].map(
    ([, name]) => name!,
  );
  const known = new Set([...read('src/config.ts').matchAll(/'(POSTERN_[A-Z_]+)'/g)].map(([, name]) => name!));
  assert.ok(known.size >= 18);
  assert.deepEqual(documented.toSorted(), [...known].toSorted());
});
