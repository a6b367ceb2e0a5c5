import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passwordFault } from '../../src/passwords/password-rules.ts';

const ADA = ['ada.lovelace@example.com', 'Ada Lovelace'];

test('a password has 8 to 128 characters, counted as code points', () => {
  assert.match(passwordFault('seven77') ?? '', /at least 8/);
  assert.equal(passwordFault('🌵🎈🚲🌂🧭🪁🛶🧶'), undefined);
  assert.match(passwordFault('🌵🎈🚲🌂🧭🪁🛶') ?? '', /at least 8/);
  assert.equal(passwordFault('xy'.repeat(64)), undefined);
  assert.match(passwordFault(`${'xy'.repeat(64)}z`) ?? '', /at most 128/);
});

test('there are no rules of composition', () => {
  for (const password of [
    'seven green bicycles',
    'plumdragonwinter',
    '  spaces  count  ',
    'ένα καλό συνθηματικό',
  ])
    assert.equal(passwordFault(password, ADA), undefined, password);
});

test('common passwords are refused, in any case and width', () => {
  for (const password of [
    'password1',
    'Password1',
    'QWERTYUIOP',
    '12345678',
    'ｐａｓｓｗｏｒｄ１',
    'aaaaaaaaaaaa',
  ])
    assert.ok(passwordFault(password), password);
});

test('passwords that are little more than the name, the address or the service are refused', () => {
  for (const password of [
    'ada.lovelace@example.com',
    'AdaLovelace',
    'lovelace12',
    'Lovelace!!!',
    'postern1',
    'exampleada',
  ])
    assert.ok(passwordFault(password, ADA), password);
  for (const password of ['lovelace in the attic', 'postern by the river'])
    assert.equal(passwordFault(password, ADA), undefined, password);
});

test('a password of one repeated character is refused, at any length', () => {
  assert.equal(passwordFault(`${'x'.repeat(7)}y`), undefined);
  assert.equal(passwordFault(`${'x'.repeat(127)}y`), undefined);
  assert.equal(passwordFault('😀🚲'.repeat(64)), undefined);
  assert.match(passwordFault(`${'x'.repeat(6)}y`) ?? '', /at least 8/);
  assert.match(passwordFault(`${'😀'.repeat(6)}🚲`) ?? '', /at least 8/);
  assert.match(passwordFault(`${'x'.repeat(128)}y`) ?? '', /at most 128/);
  for (const repeated of ['x'.repeat(8), 'x'.repeat(128), '😀'.repeat(128)])
    assert.ok(passwordFault(repeated), repeated);
});
