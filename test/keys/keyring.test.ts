import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Keyring } from '../../src/keys/keyring.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { PENDING_MS } from '../../src/protocol/key-schedule.ts';
import { openStore } from '../../src/store/store.ts';
import { eventually } from '../support/eventually.ts';

const SECRET = 'a secret for tests that is long enough';
const TTL_MS = 3_600_000;
const REF = { userId: newId(), grantId: newId(), generation: 1 };

test('a key that another process adds is read within a second, and signs once it is no longer pending', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-keys-'));
  const store = openStore(`sqlite:${join(folder, 'postern.db')}`);
  await store.migrate();
  const keyring = new Keyring(SECRET, TTL_MS);
  t.after(async () => {
    keyring.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = Date.now();
  const [first, errors]: [string, unknown[]] = [keyring.tokenSigner.signRefreshToken(REF), []];
  keyring.watch(
    store.signingKeys,
    () => now,
    (error) => errors.push(error),
  );

  await store.signingKeys.add({ number: 2, salt: 'c2FsdA', createdAt: now });
  t.mock.timers.tick(1_000);
  await eventually(() => keyring.states(now).length === 2, 5_000);
  assert.equal(keyring.tokenSigner.signRefreshToken(REF), first, 'still signed with the first key');
  now += PENDING_MS;
  t.mock.timers.tick(1_000);
  await eventually(() => keyring.tokenSigner.signRefreshToken(REF) !== first, 5_000);
  assert.deepEqual(keyring.tokenSigner.verifyRefreshToken(first), REF);
  assert.deepEqual(errors, []);
});

test('keys of another secret verify nothing', () => {
  const [ours, theirs] = [SECRET, `${SECRET}!`].map((secret) => new Keyring(secret, TTL_MS));
  const token = theirs!.tokenSigner.signRefreshToken(REF);
  assert.equal(ours!.tokenSigner.verifyRefreshToken(token), undefined);
  const signature = theirs!.pageSigner.sign('csrf', 'a text');
  assert.ok(!ours!.pageSigner.verify('csrf', 'a text', signature));
});
