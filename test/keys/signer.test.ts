import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Signer } from '../../src/keys/signer.ts';

const signer = new Signer(Buffer.alloc(32, 1));

test('a signature verifies for its own purpose, text and key, and for no other', () => {
  const signature = signer.sign('csrf', 'a text');
  assert.match(signature, /^[A-Za-z0-9_-]{43}$/);
  assert.ok(signer.verify('csrf', 'a text', signature));
  assert.ok(!signer.verify('consent', 'a text', signature));
  assert.ok(!signer.verify('csrf', 'a text ', signature));
  assert.ok(!new Signer(Buffer.alloc(32, 2)).verify('csrf', 'a text', signature));
});

test('the boundary between purpose and text is signed as well', () => {
  assert.notEqual(signer.sign('a', 'bc'), signer.sign('ab', 'c'));
});

test('a signature of another length is refused, not an error', () => {
  const signature = signer.sign('csrf', 'a text');
  for (const wrong of ['', signature.slice(1), `${signature}A`, 'ä'.repeat(43)])
    assert.ok(!signer.verify('csrf', 'a text', wrong), wrong);
});
