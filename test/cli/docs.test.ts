import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Postern } from '../support/command-line.ts';
import { pastedFrom } from '../support/markdown-blocks.ts';

test('docs/cli.md has an example of every command', async (t) => {
  const postern = new Postern(t);
  const shown = pastedFrom('docs/cli.md').join('\n');
  for (const group of ['users', 'apps', 'resource-servers']) {
    const { stdout } = await postern.run([group, '--help']);
    const names = [...stdout.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map((match) => match[1]!);
    assert.ok(names.length > 0);
    for (const name of names) assert.ok(shown.includes(`bin/postern ${group} ${name}`), `${group} ${name}`);
  }
});
