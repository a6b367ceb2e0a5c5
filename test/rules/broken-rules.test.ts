import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { importCircles, importsAgainstOrder, unusedExports } from './import-rules.ts';
import { retiredWords, riddles, sectionsOf, unknownSections } from './language-rules.ts';
import { longFiles, longFunctions } from './size-rules.ts';
import { readSources } from './sources.ts';
import { sharedState, sleeps, todos } from './test-rules.ts';

/* A small project that breaks every rule, so that a rule that finds nothing is known to have looked. */

const FILES = {
  'tsconfig.json':
    '{ "compilerOptions": { "module": "nodenext", "allowImportingTsExtensions": true, "noEmit": true } }',
  'low/order.ts': `import { high } from '../high/used.ts';\nexport const order = high;`,
  'low/dynamic.ts': `export const load = async () => (await import('../high/used.ts')).high;`,
  'low/types.ts': `export type Loaded = typeof import('../high/used.ts').high;`,
  'high/used.ts': `import { order } from '../low/order.ts';
import type { Loaded } from '../low/types.ts';
import { load } from '../low/dynamic.ts';
export const high = () => [order, load];
export function nobodyImportsThis(): Loaded { return high; }
export { high as alias };`,
  'high/circle-a.ts': `import type { B } from './circle-b.ts';\nexport type A = B;`,
  'high/circle-b.ts': `import type { A } from './circle-a.ts';\nexport type B = A;`,
  'elsewhere.ts': '',
  'long/file.ts': `${'\n'.repeat(350)}export {};`,
  'long/exactly.ts': `${'\n'.repeat(349)}export {};`,
  'long/function.ts': `const text = \`\n\`;
class Keeper {
  method() {${'\n'.repeat(60)}  }
  short() {${'\n'.repeat(59)}  }
}
export const keeper = new Keeper();`,
  'words/comments.ts': `/** What it is (protocol 4.1). */
export const sealedBox = 'a text // (protocol 9.9) that is no comment';
// Fine (protocol 4, RFC 6749 4.1.3) and stale (protocol 4.1 and 4.7).
const pattern = /\\/\\*/; // Nobody is told (spec 4.1).
export const MOST_BOXES = pattern; /* together is a word */`,
  'test/sleep.ts': `import { setTimeout as sleep } from 'node:timers/promises';
await sleep(1);
await new Promise((resolve) => setTimeout(resolve, 1));
const later = globalThis.setTimeout;
socket.setTimeout(later);`,
  'test/shared.ts': `let shared = 0, renewed = 0, single = 0;
beforeEach(() => { shared; renewed = 1; });
test('one', { todo: true }, () => { let own = 0; own++; shared = own; renewed = 2; single = 1; });
test('two', async () => { for (let own = 0; own < 1; own++) helper(() => { shared += renewed; }); });`,
};

const folder = mkdtempSync(join(tmpdir(), 'postern-rules-'));
for (const [path, text] of Object.entries(FILES)) {
  mkdirSync(join(folder, dirname(path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
const sources = readSources(folder);
after(() => rmSync(folder, { recursive: true }));

const under = (prefix: string) => sources.filter(({ path }) => path.startsWith(prefix));

test('an import against the order, and a file without a layer', () => {
  const order = [
    { paths: ['low/', 'long/', 'words/', 'test/'], job: '' },
    { paths: ['high/'], job: '' },
  ];
  assert.deepEqual(importsAgainstOrder(sources, order).sort(), [
    'elsewhere.ts is in no layer of the order',
    'low/dynamic.ts:1 imports high/used.ts, which is above it',
    'low/order.ts:1 imports high/used.ts, which is above it',
    'low/types.ts:1 imports high/used.ts, which is above it',
  ]);
});

test('a circle, also of types alone', () => {
  assert.deepEqual(importCircles(sources).sort(), [
    'high/circle-a.ts ↔ high/circle-b.ts',
    'high/used.ts ↔ low/dynamic.ts ↔ low/order.ts ↔ low/types.ts',
  ]);
});

test('an export that nobody imports', () => {
  assert.deepEqual(unusedExports(under('high/'), sources), [
    'high/used.ts nobodyImportsThis',
    'high/used.ts alias',
  ]);
});

test('a file or a function that is one line too long', () => {
  assert.deepEqual(longFiles(sources), ['long/file.ts has 351 lines, more than 350']);
  assert.deepEqual(longFunctions(sources), ['long/function.ts:4 method has 61 lines, more than 60']);
});

test('a comment that cites what is not there', () => {
  const sections = sectionsOf('# Title\n## 4. Endpoints\n### 4.1 Code exchange\n### 4.2 Refresh\n');
  assert.deepEqual([...sections], ['4', '4.1', '4.2']);
  assert.deepEqual(unknownSections(sources, sections), [
    'words/comments.ts:3 cites section 4.7, which docs/protocol.md does not have',
    'words/comments.ts:4 cites a specification that is not in the repository',
  ]);
});

test('a comment that is a riddle, and retired words', () => {
  assert.deepEqual(riddles(sources), [
    'words/comments.ts:1 starts a comment with What: start with a noun or a verb',
  ]);
  const retired = [
    { word: 'sealed', instead: 'signed' },
    { word: 'told', instead: 'reported' },
    { word: 'most', instead: 'max', inNamesOnly: true },
    { word: 'together', instead: 'batch', inNamesOnly: true },
  ] as const;
  assert.deepEqual(retiredWords(sources, retired), [
    'words/comments.ts:2 says "sealed": say signed',
    'words/comments.ts:5 says "most": say max',
    'words/comments.ts:4 says "told": say reported',
  ]);
});

test('a sleep, a test that changes what others see, and one that is marked todo', () => {
  assert.deepEqual(sleeps(sources, {}), [
    'test/sleep.ts:1 waits with a timer',
    'test/sleep.ts:3 waits with a timer',
    'test/sleep.ts:4 waits with a timer',
  ]);
  assert.deepEqual(sleeps(sources, { 'test/sleep.ts': 'allowed' }), []);
  assert.deepEqual(todos(sources), ['test/shared.ts:3 is marked todo']);
  assert.deepEqual(sharedState(sources), [
    'test/shared.ts:3 assigns shared, which other tests use',
    'test/shared.ts:4 assigns shared, which other tests use',
  ]);
});
