import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listing, printable, readableTime, shellWord, table } from '../../src/cli/output.ts';

test('columns are aligned, without trailing spaces', () => {
  const text = table([
    ['NAME', 'STATUS'],
    ['a long name', 'active'],
    ['b', ''],
  ]);
  assert.equal(text, 'NAME         STATUS\na long name  active\nb');
});

test('wide characters count as two columns', () => {
  assert.equal(
    table([
      ['李四', 'x'],
      ['🎉', 'x'],
      ['abcd', 'x'],
      ['é́', 'x'],
    ]),
    '李四  x\n🎉    x\nabcd  x\né́     x',
  );
});

test('an empty list says how to create an entry', () => {
  assert.equal(listing(['NAME'], [], 'Nothing yet.'), 'Nothing yet.');
  assert.equal(listing(['NAME'], [['x']], 'Nothing yet.'), 'NAME\nx');
});

test('control characters are not printed', () => {
  assert.equal(printable('a\x1b[2Jb\nc\u009bd\u202ee'), 'a\ufffd[2Jb\ufffdc\ufffdd\ufffde');
  assert.equal(printable('Zoë 👩‍👩‍👧 李'), 'Zoë 👩‍👩‍👧 李');
  assert.ok(!table([['a\x1b[2J', 'b\r\n']]).includes('\x1b'));
});

test('a suggested command quotes text that a stranger chose', () => {
  assert.equal(shellWord('ada+x@example.com'), 'ada+x@example.com');
  assert.equal(shellWord('$x@example.com'), "'$x@example.com'");
  assert.equal(shellWord("o'x@example.com"), "'o'\\''x@example.com'");
  assert.equal(shellWord(''), "''");
});

test('times are readable and contain their zone', () => {
  assert.equal(readableTime(Date.UTC(2026, 0, 2, 3, 4, 5)), '2026-01-02 03:04 UTC');
});
