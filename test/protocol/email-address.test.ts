import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emailFault, emailKey } from '../../src/protocol/email-address.ts';

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

test('all spellings of an address have one key', () => {
  const key = emailKey('zoë@bücher.example');
  for (const spelling of [
    'zoë@bücher.example'.normalize('NFD'),
    ' Zoë@BÜCHER.Example ',
    'zoë@xn--bcher-kva.example',
    'zoë@XN--BCHER-KVA.example',
    'ZOE\u0308@bu\u0308cher.example',
  ]) {
    assert.equal(emailKey(spelling), key, spelling);
  }
  assert.equal(key, 'zoë@xn--bcher-kva.example');
  assert.equal(emailKey('Ada@Example.com'), 'ada@example.com');
});

test('different addresses have different keys', () => {
  const addresses = [
    'a@b.example',
    'a@b.example/c.example',
    'a@bü.example',
    'a@bü.example/c.example',
    'a@bü.example#c.example',
    'a@b%2eexample.example',
    'a@1.2',
    'a@1.0.0.2',
    'a@faß.example',
    'a@fass.example',
    'ä@b.example',
    'a',
    '@',
    '',
  ];
  assert.equal(new Set(addresses.map(emailKey)).size, addresses.length);
});
