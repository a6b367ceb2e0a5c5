import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newId } from '../../../src/protocol/credentials.ts';
import {
  at,
  CLIENT,
  createUser,
  database,
  HOUR,
  isLive,
  issueTokens,
  NOW,
  type Opened,
  rotate,
} from './fixtures.ts';

export function revocationContract(open: () => Promise<Opened>): void {
  const db = database(open);

  describe('revoking', () => {
    test('a refresh token, current or consumed, revokes the grant', async () => {
      for (const generation of [1, 2, 3]) {
        const ref = await issueTokens(db.store, 3);
        await db.store.grants.revoke(at(ref, generation), CLIENT, NOW);
        assert.equal(await isLive(db.store, ref), false);
        assert.deepEqual(await rotate(db.store, ref), { outcome: 'refused', reason: 'grant_revoked' });
        await db.store.grants.revoke(ref, CLIENT, NOW);
      }
    });

    test('a token of another client or an unknown grant changes nothing', async () => {
      const ref = await issueTokens(db.store);
      await db.store.grants.revoke(ref, 'app_other', NOW);
      await db.store.grants.revoke({ ...ref, grantId: newId() }, CLIENT, NOW);
      await db.store.revokedAccessTokens.add(ref, 'app_other', NOW + HOUR);
      await db.store.revokedAccessTokens.add({ ...ref, grantId: newId() }, CLIENT, NOW + HOUR);
      assert.equal(await isLive(db.store, ref), true);
      assert.equal((await rotate(db.store, ref)).outcome, 'rotated');
    });

    test('an access token is revoked alone, and a second time changes nothing', async () => {
      const ref = await issueTokens(db.store, 3);
      await db.store.revokedAccessTokens.add(at(ref, 2), CLIENT, NOW + HOUR);
      await db.store.revokedAccessTokens.add(at(ref, 2), CLIENT, NOW + HOUR);
      const live = await Promise.all([1, 2, 3].map((n) => isLive(db.store, at(ref, n))));
      assert.deepEqual(live, [true, false, true]);
      assert.equal((await rotate(db.store, ref)).outcome, 'rotated');
    });

    test('an access token of a revoked grant is no error', async () => {
      const ref = await issueTokens(db.store);
      await db.store.grants.revoke(ref, CLIENT, NOW);
      await db.store.revokedAccessTokens.add(ref, CLIENT, NOW + HOUR);
      assert.equal(await isLive(db.store, ref), false);
    });
  });

  describe('reading by an access token', () => {
    test('gives the client and the user as they are now', async () => {
      const userId = await createUser(db.store, { email: `Mixed.Case.${newId()}@example.com`, name: null });
      const ref = await issueTokens(db.store, 1, { userId, clientId: 'app_reader' });
      const before = await db.store.grants.readAccess(ref);
      assert.ok(before.outcome === 'live');
      const { id, emailVerified, name, preferredUsername, picture, locale, updatedAt } = before.user;
      assert.equal(before.clientId, 'app_reader');
      assert.deepEqual(
        { id, emailVerified, name, preferredUsername, picture, locale, updatedAt },
        {
          id: userId,
          emailVerified: false,
          name: null,
          preferredUsername: null,
          picture: null,
          locale: null,
          updatedAt: NOW,
        },
      );
      assert.match(before.user.email, /^Mixed\.Case\./);
      await db.store.users.verifyEmail(userId, NOW + 1);
      const now = await db.store.grants.readAccess(ref);
      assert.ok(now.outcome === 'live' && now.user.emailVerified);
    });

    test('is refused for an unknown grant, a generation not issued yet, or a disabled user', async () => {
      const ref = await issueTokens(db.store, 2);
      assert.equal(await isLive(db.store, { ...ref, grantId: newId() }), false);
      assert.equal(await isLive(db.store, { ...ref, userId: await createUser(db.store) }), false);
      assert.equal(await isLive(db.store, at(ref, 3)), false);
      assert.equal(await isLive(db.store, at(ref, 1)), true);
      await db.store.users.setDisabled(ref.userId, true, NOW);
      assert.equal(await isLive(db.store, ref), false);
      await db.store.users.setDisabled(ref.userId, false, NOW);
      assert.equal(await isLive(db.store, ref), true);
    });
  });
}
