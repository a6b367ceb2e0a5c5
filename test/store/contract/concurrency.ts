import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../../src/protocol/credentials.ts';
import { DuplicateKey } from '../../../src/store/errors.ts';
import {
  at,
  BOTH,
  CLIENT,
  createUser,
  database,
  isLive,
  issueCode,
  issueTokens,
  NOW,
  newApplication,
  newGrant,
  newUser,
  type Opened,
  PROFILE,
  redeem,
  rotate,
} from './fixtures.ts';

export function concurrencyContract(open: () => Promise<Opened>): void {
  const db = database(open);

  test('of many concurrent writes, only the failing ones fail', async () => {
    const taken = await createUser(db.store, { email: 'taken@example.com' });
    const clientId = newApplication().clientId;
    await db.store.applications.create(newApplication({ clientId }));
    const users = Array.from({ length: 60 }, (_, n) =>
      newUser(n % 3 === 0 ? { email: 'taken@example.com' } : {}),
    );
    const [created, duplicate, grant] = await Promise.all([
      Promise.all(users.map((user) => db.store.users.create(user))),
      db.store.applications.create(newApplication({ clientId })).then(
        () => 'created',
        (error) => error,
      ),
      db.store.grants.create(newGrant(taken)),
    ]);
    assert.ok(duplicate instanceof DuplicateKey);
    assert.equal(grant, 'created');
    for (const [n, user] of users.entries()) {
      assert.equal(created[n], n % 3 === 0 ? 'email_taken' : 'created');
      assert.equal((await db.store.users.find(user.id)) !== undefined, n % 3 !== 0);
    }
    assert.equal((await db.store.users.findByEmail('taken@example.com'))?.id, taken);
  });

  test('of many users created at once with one email address, exactly one is', async () => {
    const email = `wanted.${newId()}@example.com`;
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, () => db.store.users.create(newUser({ email }))),
    );
    assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 1);
  });

  test('a resolved write is visible to every connection', { timeout: 60_000 }, async () => {
    const other = await db.opened.another();
    try {
      for (let round = 0; round < 20; round++) {
        const ref = await issueTokens(db.store);
        assert.equal((await rotate(other, ref)).outcome, 'rotated');
        assert.deepEqual(await rotate(db.store, ref), { outcome: 'reused', revoked: true });
        assert.equal(await isLive(other, ref), false);
      }
    } finally {
      await other.close();
    }
  });

  test('of concurrent rotations of one token one succeeds, among rotations of other tokens', async () => {
    const refs = await Promise.all(Array.from({ length: 25 }, () => issueTokens(db.store)));
    const thrice = [...refs, ...refs.toReversed(), ...refs];
    const outcomes = await Promise.all(thrice.map((ref) => rotate(db.store, ref)));
    for (const ref of refs) {
      const own = outcomes.filter((_, n) => thrice[n] === ref).map(({ outcome }) => outcome);
      assert.deepEqual(own.toSorted(), ['reused', 'reused', 'rotated']);
      assert.equal(await isLive(db.store, ref), false);
    }
  });

  test('a code presented twice at the same time is redeemed once', async () => {
    const refs = await Promise.all(Array.from({ length: 25 }, () => issueCode(db.store)));
    const twice = [...refs, ...refs];
    const outcomes = await Promise.all(twice.map((ref) => redeem(db.store, ref)));
    for (const ref of refs) {
      const own = outcomes.filter((_, n) => twice[n] === ref).map(({ outcome }) => outcome);
      assert.deepEqual(own.toSorted(), ['redeemed', 'replayed']);
    }
  });

  test('each of many concurrent requests gets its own result', async () => {
    const users = await Promise.all(
      Array.from({ length: 40 }, (_, n) => createUser(db.store, { name: `"${n}", {\\}` })),
    );
    const scopes = users.map((_, n) => (n % 2 === 0 ? BOTH : PROFILE));
    const refs = await Promise.all(
      users.map((userId, n) => issueTokens(db.store, 1, { userId, scope: scopes[n]! })),
    );
    // Every fifth grant does not exist.
    const presented = refs.map((ref, n) => (n % 5 === 0 ? { ...ref, grantId: newId() } : ref));
    const reads = await Promise.all(presented.map((ref) => db.store.grants.readAccess(ref)));
    for (const [n, read] of reads.entries()) {
      if (n % 5 === 0) assert.equal(read.outcome, 'refused');
      else assert.deepEqual([read.outcome, read.outcome === 'live' && read.user.id], ['live', users[n]]);
      if (read.outcome === 'live') assert.equal(read.user.name, `"${n}", {\\}`);
    }
    const rotations = await Promise.all(
      refs.map((ref, n) => rotate(db.store, ref, n % 5 === 0 ? { clientId: 'app_another' } : {})),
    );
    for (const [n, rotation] of rotations.entries())
      assert.deepEqual(
        rotation,
        n % 5 === 0
          ? { outcome: 'refused', reason: 'wrong_client' }
          : { outcome: 'rotated', scope: scopes[n] },
      );
  });

  test('of many concurrent revocations, those by another application revoke nothing', async () => {
    const refs = await Promise.all(Array.from({ length: 20 }, () => issueTokens(db.store)));
    const clients = refs.map((_, n) => (n % 4 === 0 ? 'app_another' : CLIENT));
    const ended = await Promise.all(refs.map((ref, n) => db.store.grants.revoke(ref, clients[n]!, NOW)));
    for (const [n, ref] of refs.entries()) {
      assert.equal(ended[n], n % 4 !== 0);
      assert.equal(await isLive(db.store, ref), n % 4 === 0);
    }
  });

  test('two connections that rotate many tokens in opposite orders rotate each once', {
    timeout: 60_000,
  }, async () => {
    const other = await db.opened.another();
    try {
      for (let round = 0; round < 5; round++) {
        const refs = await Promise.all(Array.from({ length: 30 }, () => issueTokens(db.store)));
        const [ours, theirs] = await Promise.all([
          Promise.all(refs.map((ref) => rotate(db.store, ref))),
          Promise.all(refs.toReversed().map((ref) => rotate(other, ref))),
        ]);
        for (const [n, one] of ours.entries())
          assert.deepEqual([one.outcome, theirs.toReversed()[n]!.outcome].sort(), ['reused', 'rotated']);
      }
    } finally {
      await other.close();
    }
  });

  test('of two connections that rotate one token at the same time one succeeds', {
    timeout: 60_000,
  }, async () => {
    const other = await db.opened.another();
    try {
      for (let round = 0; round < 20; round++) {
        const ref = await issueTokens(db.store);
        const outcomes = await Promise.all([rotate(db.store, ref), rotate(other, ref)]);
        assert.deepEqual(outcomes.map(({ outcome }) => outcome).sort(), ['reused', 'rotated']);
        assert.deepEqual(await rotate(db.store, at(ref, 2)), { outcome: 'refused', reason: 'grant_revoked' });
      }
    } finally {
      await other.close();
    }
  });
}
