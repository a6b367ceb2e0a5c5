import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allScopes,
  formatScope,
  includes,
  NO_SCOPE,
  parseScope,
  scopeOf,
  scopesIn,
  unionOf,
} from '../../src/protocol/scope.ts';

const PROFILE = scopeOf('profile');
const EMAIL = scopeOf('email');

test('a scope is parsed in any order, with extra spaces and repetitions', () => {
  assert.equal(parseScope('profile'), PROFILE);
  assert.equal(parseScope('email profile'), PROFILE | EMAIL);
  assert.equal(parseScope('  email  profile email '), PROFILE | EMAIL);
  assert.equal(parseScope(''), NO_SCOPE);
});

test('one unknown name makes the whole scope invalid', () => {
  for (const text of [
    'openid',
    'profile openid',
    'Profile',
    'profile,email',
    'profile\temail',
    'profile\n',
    'constructor',
    '__proto__',
    'profil',
  ]) {
    assert.equal(parseScope(text), undefined, JSON.stringify(text));
  }
});

test('a scope is formatted in a fixed order', () => {
  assert.equal(formatScope(parseScope('email profile')!), 'profile email');
  assert.equal(formatScope(EMAIL), 'email');
  assert.equal(formatScope(NO_SCOPE), '');
  assert.deepEqual(
    scopesIn(PROFILE | EMAIL).map(({ name }) => name),
    ['profile', 'email'],
  );
  assert.equal(unionOf(scopesIn(PROFILE | EMAIL)), PROFILE | EMAIL);
});

test('a scope includes its subsets', () => {
  assert.ok(includes(PROFILE | EMAIL, EMAIL));
  assert.ok(includes(EMAIL, EMAIL));
  assert.ok(includes(EMAIL, NO_SCOPE));
  assert.ok(!includes(EMAIL, PROFILE));
  assert.ok(!includes(EMAIL, PROFILE | EMAIL));
  assert.ok(!includes(NO_SCOPE, EMAIL));
});

test('every scope has one bit of its own, within the three bytes of an access token', () => {
  const bits = allScopes().map(({ bit }) => bit);
  assert.equal(new Set(bits).size, bits.length);
  for (const bit of bits) assert.ok(Number.isInteger(Math.log2(bit)) && bit < 1 << 24, String(bit));
});
