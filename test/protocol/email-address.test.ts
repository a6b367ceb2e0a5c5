import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emailFault } from '../../src/protocol/email-address.ts';

test('an address that is too long or malformed is refused', () => {
  for (const email of [
    'ada@example.com',
    "o'brien+x@sub.example.co",
    'zoë@bücher.example',
    `a@${'b'.repeat(250)}.d`,
  ]) {
    assert.equal(emailFault(email), undefined, email);
  }
  for (const email of [
    '',
    'a',
    'a@b',
    'a b@c.de',
    'a@b@c.de',
    'a"@b.de',
    'a@b..de',
    'a@.de',
    'a\u200b@b.de',
    '@b.de',
  ]) {
    assert.match(emailFault(email) ?? '', /not an e-mail/, email);
  }
  assert.match(emailFault(`a@${'b'.repeat(250)}.de`) ?? '', /at most 254/);
});
