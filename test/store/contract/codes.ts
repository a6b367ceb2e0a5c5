import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../../src/protocol/credentials.ts';
import {
  at,
  BOTH,
  CLIENT,
  CODE_TTL,
  type CodeRedemption,
  createUser,
  DAY,
  database,
  EMAIL,
  isLive,
  issueCode,
  issueTokens,
  MINUTE,
  NOW,
  newGrant,
  type Opened,
  PROFILE,
  REFRESH_TTL,
  redeem,
  rotate,
  URI,
} from './fixtures.ts';

export function codeContract(open: () => Promise<Opened>): void {
  const db = database(open);

  test('a grant can be created only for an enabled user', async () => {
    const userId = await createUser(db.store);
    assert.equal(await db.store.grants.create(newGrant(userId)), 'created');
    assert.equal(await db.store.grants.create(newGrant(newId())), 'refused');
    await db.store.users.setDisabled(userId, true, NOW);
    const refused = newGrant(userId);
    assert.equal(await db.store.grants.create(refused), 'refused');
    assert.equal(await db.store.grants.codeIsLive(userId, refused.grantId, NOW), false);
  });

  test('creating a grant again keeps the first one while its code is unused', async () => {
    const userId = await createUser(db.store);
    const grant = newGrant(userId, { scope: PROFILE });
    const ref = { userId, grantId: grant.grantId, generation: 0 };
    assert.equal(await db.store.grants.create(grant), 'created');
    const again = { ...grant, scope: BOTH, redirectUri: 'https://other.example/', expiresAt: NOW + DAY };
    assert.equal(await db.store.grants.create(again), 'created');
    const refused = await redeem(db.store, ref, { redirectUri: again.redirectUri });
    assert.deepEqual(refused, { outcome: 'refused', reason: 'wrong_redirect_uri' });
    assert.deepEqual(await redeem(db.store, ref), { outcome: 'redeemed', scope: PROFILE });
    assert.equal(await db.store.grants.create(grant), 'refused');
  });

  test('creating a grant again fails when its code has expired', async () => {
    const grant = newGrant(await createUser(db.store));
    await db.store.grants.create(grant);
    assert.equal(await db.store.grants.create({ ...grant, now: grant.expiresAt }), 'refused');
  });

  test('up to the bound, the grants of a user to an application that were used last stay, and no others', async () => {
    const store = await db.opened.another({ maxGrants: 100 });
    const userId = await createUser(store);
    const issue = async (now: number) => {
      const code = await issueCode(store, { userId, now, expiresAt: now + CODE_TTL });
      await redeem(store, code, { now });
      return at(code, 1);
    };
    const used = await issue(NOW);
    const elsewhere = await issueTokens(store, 1, { userId, clientId: 'app_other' });
    const refs = [];
    for (let n = 1; n < 100; n++) refs.push(await issue(NOW + n));
    assert.equal(await isLive(store, used), true);
    await rotate(store, used, { now: NOW + 1000 });
    const last = await issue(NOW + 1001);
    const live = await Promise.all(refs.map((ref) => isLive(store, ref)));
    assert.deepEqual([live.indexOf(true), live.filter((one) => !one).length], [1, 1]);
    for (const ref of [at(used, 2), elsewhere, last]) assert.equal(await isLive(store, ref), true);
    assert.deepEqual(await rotate(store, refs[0]!, { now: NOW + 1002 }), {
      outcome: 'refused',
      reason: 'grant_revoked',
    });
  });

  test('unused codes end no live grant, and too many of them within an hour are refused', async () => {
    const store = await db.opened.another({ maxGrants: 100 });
    const userId = await createUser(store);
    const ref = await issueTokens(store, 1, { userId });
    const create = (now: number) => store.grants.create(newGrant(userId, { now, expiresAt: now + CODE_TTL }));
    const outcomes = [];
    for (let n = 0; n < 250; n++) outcomes.push(await create(NOW + n * 2 * CODE_TTL));
    assert.deepEqual([outcomes.indexOf('too_many'), outcomes.at(-1)], [199, 'too_many']);
    assert.equal(await isLive(store, ref), true);
    const later = NOW + 251 * 2 * CODE_TTL;
    const { removed } = await store.grants.sweep({ userId: '', grantId: '' }, 1_000, later, later);
    assert.ok(removed >= 199);
    assert.equal(await create(later), 'created');
  });

  test('a code is live until it is redeemed, expires or is revoked', async () => {
    const { store } = db;
    const code = await issueCode(store);
    const live = (now: number, ref = code) => store.grants.codeIsLive(ref.userId, ref.grantId, now);
    assert.equal(await live(NOW + CODE_TTL - 1), true);
    assert.equal(await live(NOW + CODE_TTL), false);
    assert.equal(await store.grants.codeIsLive(await createUser(store), code.grantId, NOW), false);
    await redeem(store, code);
    assert.equal(await live(NOW), false);

    const revoked = await issueCode(store);
    await store.grants.revoke(revoked, CLIENT, NOW);
    assert.equal(await live(NOW, revoked), false);
  });

  describe('redeeming a code', () => {
    test('gives the scope that was granted', async () => {
      for (const scope of [BOTH, PROFILE, EMAIL, 0]) {
        assert.deepEqual(await redeem(db.store, await issueCode(db.store, { scope })), {
          outcome: 'redeemed',
          scope,
        });
      }
    });

    const refusals: [string, Partial<CodeRedemption>, string][] = [
      ['another client', { clientId: 'app_other' }, 'wrong_client'],
      ['another redirect URI', { redirectUri: `${URI}/` }, 'wrong_redirect_uri'],
      ['the redirect URI in upper case', { redirectUri: URI.toUpperCase() }, 'wrong_redirect_uri'],
      ['another verifier', { codeChallenge: 'd'.repeat(43) }, 'wrong_verifier'],
      ['no verifier', { codeChallenge: undefined }, 'wrong_verifier'],
      ['the moment of expiry', { now: NOW + CODE_TTL }, 'expired'],
      ['several mismatches', { clientId: 'x', redirectUri: 'x', codeChallenge: 'x' }, 'wrong_client'],
    ];
    for (const [what, changes, reason] of refusals) {
      test(`is refused for ${what}, and leaves the code usable`, async () => {
        const code = await issueCode(db.store);
        assert.deepEqual(await redeem(db.store, code, changes), { outcome: 'refused', reason });
        const last = { now: NOW + CODE_TTL - 1 };
        assert.equal((await redeem(db.store, code, last)).outcome, 'redeemed');
      });
    }

    test('is refused for a grant that does not exist, or is another user’s', async () => {
      const code = await issueCode(db.store);
      const unknown = { outcome: 'refused', reason: 'grant_unknown' };
      assert.deepEqual(await redeem(db.store, { ...code, grantId: newId() }), unknown);
      assert.deepEqual(await redeem(db.store, { ...code, userId: await createUser(db.store) }), unknown);
    });

    test('is refused for a disabled user, until enabled again', async () => {
      const code = await issueCode(db.store);
      await db.store.users.setDisabled(code.userId, true, NOW);
      assert.deepEqual(await redeem(db.store, code), { outcome: 'refused', reason: 'user_disabled' });
      await db.store.users.setDisabled(code.userId, false, NOW);
      assert.equal((await redeem(db.store, code)).outcome, 'redeemed');
    });

    test('is refused when the grant was revoked', async () => {
      const code = await issueCode(db.store);
      await db.store.grants.revoke(code, CLIENT, NOW);
      assert.deepEqual(await redeem(db.store, code), { outcome: 'refused', reason: 'grant_revoked' });
    });

    test('starts the lifetime of the refresh token', async () => {
      const code = await issueCode(db.store);
      await redeem(db.store, code, { now: NOW + MINUTE });
      const edge = NOW + MINUTE + REFRESH_TTL;
      assert.deepEqual(await rotate(db.store, at(code, 1), { now: edge }), {
        outcome: 'refused',
        reason: 'expired',
      });
      assert.equal((await rotate(db.store, at(code, 1), { now: edge - 1 })).outcome, 'rotated');
    });
  });

  describe('replaying a code', () => {
    test('revokes the grant when everything else is valid, once, however late', async () => {
      for (const generation of [1, 2, 4]) {
        const ref = await issueTokens(db.store, generation);
        const replay = { now: NOW + DAY };
        assert.deepEqual(await redeem(db.store, at(ref, 0), replay), { outcome: 'replayed', revoked: true });
        assert.deepEqual(await redeem(db.store, at(ref, 0), replay), { outcome: 'replayed', revoked: false });
        assert.equal(await isLive(db.store, ref), false);
        assert.deepEqual(await rotate(db.store, ref), { outcome: 'refused', reason: 'grant_revoked' });
      }
    });

    const wrong: Partial<CodeRedemption>[] = [
      { clientId: 'app_other' },
      { redirectUri: 'https://other.example/' },
      { codeChallenge: 'd'.repeat(43) },
      { codeChallenge: undefined },
    ];
    for (const changes of wrong) {
      test(`changes nothing with ${JSON.stringify(Object.entries(changes)[0])}`, async () => {
        const ref = await issueTokens(db.store);
        assert.deepEqual(await redeem(db.store, at(ref, 0), changes), {
          outcome: 'replayed',
          revoked: false,
        });
        assert.equal(await isLive(db.store, ref), true);
        assert.equal((await rotate(db.store, ref)).outcome, 'rotated');
      });
    }

    test('changes nothing after a rotation has dropped the values the expired code was bound to', async () => {
      const kept = await issueTokens(db.store);
      await rotate(db.store, kept, { now: NOW + CODE_TTL - 1 });
      assert.deepEqual(await redeem(db.store, at(kept, 0)), { outcome: 'replayed', revoked: true });

      const forgotten = await issueTokens(db.store);
      await rotate(db.store, forgotten, { now: NOW + CODE_TTL });
      assert.deepEqual(await redeem(db.store, at(forgotten, 0)), { outcome: 'replayed', revoked: false });
      assert.equal(await isLive(db.store, forgotten), true);
    });
  });
}
