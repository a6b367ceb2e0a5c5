import assert from 'node:assert/strict';
import { test } from 'node:test';
import { challengeOf, isChallenge } from '../../src/protocol/pkce.ts';

test('the example of RFC 7636 appendix B', () => {
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  assert.equal(challengeOf(verifier), 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
});

test('a verifier has 43 to 128 unreserved characters', () => {
  const unreserved = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~';
  assert.notEqual(challengeOf(unreserved), undefined);
  assert.notEqual(challengeOf('a'.repeat(43)), undefined);
  assert.notEqual(challengeOf('a'.repeat(128)), undefined);
  for (const length of [0, 1, 42, 129, 1000])
    assert.equal(challengeOf('a'.repeat(length)), undefined, `${length}`);
  for (const character of ['+', '/', '=', ' ', '%', '\n', '\0', 'é', '!', '"']) {
    assert.equal(challengeOf(character + 'a'.repeat(50)), undefined, JSON.stringify(character));
    assert.equal(challengeOf('a'.repeat(50) + character), undefined, JSON.stringify(character));
  }
});

test('a challenge is exactly 43 base64url characters', () => {
  assert.ok(isChallenge('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'));
  for (const length of [0, 42, 44, 86]) assert.ok(!isChallenge('a'.repeat(length)), `${length}`);
  for (const character of ['+', '/', '=', '.', '~', ' ', '\n', 'é']) {
    assert.ok(!isChallenge('a'.repeat(42) + character), JSON.stringify(character));
  }
  assert.ok(!isChallenge(`${'a'.repeat(43)}\n`));
});
