import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameFault } from '../../src/protocol/name.ts';

test('a name has 1 to 80 characters and no control character', () => {
  assert.equal(nameFault('🎉'.repeat(80)), undefined);
  for (const name of ['', 'x'.repeat(81), 'a\tb', 'a\u202eb'])
    assert.ok(nameFault(name), JSON.stringify(name));
});

test('a name can be seen', () => {
  for (const name of ['\u200b', '\u00a0', '\u3164', '\u2800\u200d', '\u00ad', '\ufe0f'])
    assert.match(nameFault(name)!, /can be seen/, JSON.stringify(name));
  for (const name of ['a', '7', '★', '写真', 'ع', '👩‍👩‍👧']) assert.equal(nameFault(name), undefined, name);
});
