import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { adoptSecret, claimDatabase, matchesFingerprint } from '../../src/keys/secret-fingerprint.ts';
import type { SqlSecretFingerprint } from '../../src/store/secret-fingerprint.ts';
import { openStore } from '../../src/store/store.ts';

const [FIRST, SECOND] = ['the first secret, long enough for all', 'the second secret, long enough for all'];

async function newFingerprint(t: TestContext): Promise<SqlSecretFingerprint> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-keys-'));
  const store = openStore(`sqlite:${join(folder, 'postern.db')}`);
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await store.migrate();
  return store.secretFingerprint;
}

test('a database belongs to the first secret that claims it, until another one is adopted', async (t) => {
  const fingerprint = await newFingerprint(t);
  assert.ok(await claimDatabase(fingerprint, FIRST));
  assert.ok(!(await claimDatabase(fingerprint, SECOND)));
  assert.ok(await claimDatabase(fingerprint, FIRST));

  await adoptSecret(fingerprint, SECOND);
  assert.ok(!(await claimDatabase(fingerprint, FIRST)));
  assert.ok(await claimDatabase(fingerprint, SECOND));
});

test('of two secrets that claim a new database at the same time, one gets it', async (t) => {
  const fingerprint = await newFingerprint(t);
  const claims = await Promise.all([FIRST, SECOND].map((secret) => claimDatabase(fingerprint, secret)));
  assert.deepEqual(claims.toSorted(), [false, true]);
});

test('the fingerprint is a slow salted hash', async (t) => {
  const fingerprint = await newFingerprint(t);
  await claimDatabase(fingerprint, FIRST);
  const stored = await fingerprint.find();
  assert.match(stored!, /^\$argon2id\$/);
  assert.ok(await matchesFingerprint(FIRST, stored!));
  assert.ok(!(await matchesFingerprint(SECOND, stored!)));
});
