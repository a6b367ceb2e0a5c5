import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { hashClientSecret, newClientSecret, secretMatches } from '../../src/protocol/client-secret.ts';

test('a client secret is 256 random bits after a prefix for secret scanners', () => {
  const secrets = new Set(Array.from({ length: 100 }, newClientSecret));
  assert.equal(secrets.size, 100);
  for (const secret of secrets) assert.match(secret, /^postern_cs_[A-Za-z0-9_-]{43}$/);
});

test('the stored form of a secret is its SHA-256', () => {
  assert.equal(hashClientSecret('secret'), createHash('sha256').update('secret').digest('hex'));
});

test('only equal digests match, and different lengths do not throw', () => {
  const stored = hashClientSecret('secret');
  assert.ok(secretMatches(hashClientSecret('secret'), stored));
  for (const other of [hashClientSecret('Secret'), '', stored.slice(1), `${stored}0`])
    assert.ok(!secretMatches(other, stored));
});
