import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../../src/protocol/credentials.ts';
import {
  at,
  BOTH,
  CLIENT,
  createUser,
  database,
  EMAIL,
  isLive,
  issueCode,
  issueTokens,
  NOW,
  type Opened,
  PROFILE,
  REFRESH_TTL,
  type Rotation,
  rotate,
} from './fixtures.ts';

export function rotationContract(open: () => Promise<Opened>): void {
  const db = database(open);

  describe('rotating', () => {
    test('works generation by generation, each with a new lifetime', async () => {
      const ref = await issueTokens(db.store);
      let now = NOW;
      for (let generation = 1; generation <= 5; generation++) {
        now += REFRESH_TTL - 1;
        const outcome = await rotate(db.store, at(ref, generation), { now });
        assert.deepEqual(outcome, { outcome: 'rotated', scope: BOTH });
      }
    });

    test('narrows one access token’s scope and never the grant’s', async () => {
      const ref = await issueTokens(db.store);
      assert.deepEqual(await rotate(db.store, ref, { scope: EMAIL }), { outcome: 'rotated', scope: EMAIL });
      assert.deepEqual(await rotate(db.store, at(ref, 2)), { outcome: 'rotated', scope: BOTH });
    });

    test('refuses a scope wider than the grant’s and consumes nothing', async () => {
      const ref = await issueTokens(db.store, 1, { scope: PROFILE });
      for (const scope of [EMAIL, BOTH, 4, 1 << 20]) {
        assert.deepEqual(await rotate(db.store, ref, { scope }), { outcome: 'scope_exceeded' });
      }
      assert.deepEqual(await rotate(db.store, ref), { outcome: 'rotated', scope: PROFILE });
    });

    test('works for a grant with an empty scope', async () => {
      const ref = await issueTokens(db.store, 1, { scope: 0 });
      assert.deepEqual(await rotate(db.store, ref), { outcome: 'rotated', scope: 0 });
    });

    const refusals: [string, Partial<Rotation>, string][] = [
      ['another client', { clientId: 'app_other' }, 'wrong_client'],
      ['another client that requests too wide a scope', { clientId: 'app_other', scope: 4 }, 'wrong_client'],
      ['the moment of expiry', { now: NOW + REFRESH_TTL }, 'expired'],
      ['the moment of expiry with too wide a scope', { now: NOW + REFRESH_TTL, scope: 4 }, 'expired'],
    ];
    for (const [what, changes, reason] of refusals) {
      test(`is refused for ${what}, and nothing changes`, async () => {
        const ref = await issueTokens(db.store);
        assert.deepEqual(await rotate(db.store, ref, changes), { outcome: 'refused', reason });
        assert.equal((await rotate(db.store, ref, { now: NOW + REFRESH_TTL - 1 })).outcome, 'rotated');
      });
    }

    test('is refused for a disabled user, until enabled again', async () => {
      const ref = await issueTokens(db.store);
      await db.store.users.setDisabled(ref.userId, true, NOW);
      assert.deepEqual(await rotate(db.store, ref), { outcome: 'refused', reason: 'user_disabled' });
      await db.store.users.setDisabled(ref.userId, false, NOW);
      assert.equal((await rotate(db.store, ref)).outcome, 'rotated');
    });

    test('is refused when the grant was revoked, does not exist, or is another user’s', async () => {
      const ref = await issueTokens(db.store);
      const unknown = { outcome: 'refused', reason: 'grant_unknown' };
      assert.deepEqual(await rotate(db.store, { ...ref, grantId: newId() }), unknown);
      assert.deepEqual(await rotate(db.store, { ...ref, userId: await createUser(db.store) }), unknown);
      await db.store.grants.revoke(ref, CLIENT, NOW);
      assert.deepEqual(await rotate(db.store, ref), { outcome: 'refused', reason: 'grant_revoked' });
    });

    test('a generation newer than the row (a restored backup) is refused and revokes the grant', async () => {
      const ref = await issueTokens(db.store, 2);
      assert.deepEqual(await rotate(db.store, at(ref, 3)), {
        outcome: 'refused',
        reason: 'grant_behind_token',
      });
      assert.deepEqual(await rotate(db.store, at(await issueCode(db.store), 1)), {
        outcome: 'refused',
        reason: 'grant_behind_token',
      });
      assert.deepEqual(await rotate(db.store, ref), { outcome: 'refused', reason: 'grant_revoked' });
    });

    for (const [who, clientId] of [
      ['its own client', CLIENT],
      ['any other client', 'app_other'],
    ] as const) {
      test(`a consumed token of any age, presented by ${who}, revokes the grant once`, async () => {
        for (const age of [1, 2, 4]) {
          const ref = await issueTokens(db.store, 5);
          const consumed = at(ref, 5 - age);
          const reuse = { clientId, now: NOW + REFRESH_TTL };
          assert.deepEqual(await rotate(db.store, consumed, reuse), { outcome: 'reused', revoked: true });
          assert.deepEqual(await rotate(db.store, consumed, reuse), { outcome: 'reused', revoked: false });
          assert.deepEqual(await rotate(db.store, ref), { outcome: 'refused', reason: 'grant_revoked' });
          for (let n = 1; n <= 5; n++) assert.equal(await isLive(db.store, at(ref, n)), false);
        }
      });
    }

    test('reuse revokes the grant whatever scope is requested, also for a disabled user', async () => {
      const ref = await issueTokens(db.store, 2);
      await db.store.users.setDisabled(ref.userId, true, NOW);
      assert.deepEqual(await rotate(db.store, at(ref, 1), { scope: 4 }), {
        outcome: 'reused',
        revoked: true,
      });
      await db.store.users.setDisabled(ref.userId, false, NOW);
      assert.equal(await isLive(db.store, ref), false);
    });

    test('of many concurrent rotations exactly one succeeds, and the grant is revoked', async () => {
      const ref = await issueTokens(db.store);
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => rotate(db.store, ref)));
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'rotated').length, 1);
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'reused').length, 19);
      assert.equal(outcomes.filter((one) => one.outcome === 'reused' && one.revoked).length, 1);
      assert.deepEqual(await rotate(db.store, at(ref, 2)), { outcome: 'refused', reason: 'grant_revoked' });
    });
  });
}
