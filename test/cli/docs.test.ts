import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Postern, ROOT } from './run.ts';

const page = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8');
const examples = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1]!);

test('the examples of docs/cli.md work when pasted, one after the other', async (t) => {
  const { code, stdout, stderr } = await new Postern(t).execute('/bin/sh', [
    '-eu',
    '-c',
    examples.join('\n'),
  ]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^Created Photo Wall\.$.*^[A-Za-z0-9_-]{43}$.*^Deleted Photo Wall\./ms);
});

test('docs/cli.md has an example of every command', async (t) => {
  const postern = new Postern(t);
  const shown = examples.join('\n');
  for (const group of ['users', 'apps']) {
    const { stdout } = await postern.run([group, '--help']);
    const names = [...stdout.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map((match) => match[1]!);
    assert.ok(names.length > 0);
    for (const name of names) assert.ok(shown.includes(`bin/postern ${group} ${name}`), `${group} ${name}`);
  }
});
