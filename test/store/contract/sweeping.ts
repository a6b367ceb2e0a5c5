import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { pino } from 'pino';
import { createApp } from '../../../src/app.ts';
import { readConfig } from '../../../src/config.ts';
import { Keyring } from '../../../src/keys/keyring.ts';
import type { SweepPosition } from '../../../src/store/grants.ts';
import type { Store } from '../../../src/store/store.ts';
import { Sweeper } from '../../../src/sweeper.ts';
import { eventually } from '../../support/eventually.ts';
import { agreeingClock } from '../../support/service.ts';
import {
  at,
  CLIENT,
  CODE_TTL,
  createUser,
  HOUR,
  isLive,
  issueTokens,
  type NewGrant,
  NOW,
  newApplication,
  newGrant,
  newSession,
  type Opened,
  REFRESH_TTL,
  redeem,
  rotate,
} from './fixtures.ts';

export function sweepContract(open: () => Promise<Opened>): void {
  let opened: Opened;
  let store: Store;
  beforeEach(async () => {
    await opened?.close();
    opened = await open();
    ({ store } = opened);
    await store.migrate();
    await store.applications.create(newApplication({ clientId: CLIENT }));
  });
  after(() => opened?.close());

  /** Grants of a few users, every third of them expired at NOW. */
  async function manyGrants(count: number): Promise<{ expired: NewGrant[]; live: NewGrant[] }> {
    const users = await Promise.all(Array.from({ length: Math.ceil(count / 100) }, () => createUser(store)));
    const grants = Array.from({ length: count }, (_, n) =>
      newGrant(users[n % users.length]!, { expiresAt: n % 3 === 0 ? NOW - (n % 7) : NOW + 1 + (n % 7) }),
    );
    await Promise.all(grants.map((grant) => store.grants.create({ ...grant, now: NOW - CODE_TTL })));
    const expired = grants.filter(({ expiresAt }) => expiresAt <= NOW);
    return { expired, live: grants.filter((grant) => !expired.includes(grant)) };
  }

  /** At time 0 nothing has expired: an unused code is live exactly when its row exists. */
  const isThere = ({ userId, grantId }: NewGrant) => store.grants.codeIsLive(userId, grantId, 0);
  const countThere = async (grants: readonly NewGrant[]) =>
    (await Promise.all(grants.map(isThere))).filter(Boolean).length;

  test('sweeping in small steps removes exactly the expired grants', async () => {
    const { expired, live } = await manyGrants(100);
    let from: SweepPosition | undefined = { userId: '', grantId: '' };
    let removed = 0;
    let steps = 0;
    while (from) {
      const step = await store.grants.sweep(from, 7, NOW, NOW);
      assert.ok(step.removed <= 7);
      removed += step.removed;
      steps++;
      from = step.next;
    }
    assert.equal(removed, expired.length);
    assert.ok(steps >= 100 / 7 && steps <= 100 / 7 + 2, `${steps} steps`);
    assert.deepEqual([await countThere(expired), await countThere(live)], [0, live.length]);
  });

  test('a sweep ends at once in an empty table, and after a last full step', async () => {
    const start = { userId: '', grantId: '' };
    assert.deepEqual(await store.grants.sweep(start, 10, NOW, NOW), {
      removed: 0,
      orphaned: 0,
      live: 0,
      next: undefined,
    });
    await manyGrants(10);
    const { removed, next } = await store.grants.sweep(start, 10, NOW, NOW);
    assert.ok(removed > 0 && next);
    assert.deepEqual(await store.grants.sweep(next, 10, NOW, NOW), {
      removed: 0,
      orphaned: 0,
      live: 0,
      next: undefined,
    });
  });

  test('a sweep revokes the grants of deleted applications and no others', async () => {
    const userId = await createUser(store);
    const orphan = newGrant(userId, { clientId: 'app_deleted' });
    const kept = newGrant(userId);
    await Promise.all([orphan, kept].map((grant) => store.grants.create(grant)));
    const step = await store.grants.sweep({ userId: '', grantId: '' }, 10, NOW, NOW);
    assert.deepEqual([step.orphaned, step.live], [1, 1]);
    assert.deepEqual([await isThere(orphan), await isThere(kept)], [false, true]);
  });

  test('a grant rotated during a sweep is kept', async () => {
    const ref = await issueTokens(store);
    const late = NOW + REFRESH_TTL - 1;
    await rotate(store, ref, { now: late });
    await store.grants.sweep({ userId: '', grantId: '' }, 10, late + 2, late + 2);
    assert.equal(await isLive(store, at(ref, 2)), true);
  });

  test('revoked access tokens are kept until they would have expired, and removed in bounded steps', async () => {
    const ref = await issueTokens(store, 10);
    for (let n = 1; n <= 10; n++) await store.revokedAccessTokens.add(at(ref, n), CLIENT, NOW + n);
    assert.equal(await store.revokedAccessTokens.sweep(100, NOW), 0);
    assert.equal(await store.revokedAccessTokens.sweep(2, NOW + 5), 2);
    assert.equal(await store.revokedAccessTokens.sweep(100, NOW + 5), 3);
    assert.equal(await isLive(store, at(ref, 6)), false);
    assert.equal(await store.revokedAccessTokens.sweep(100, NOW + 100), 5);
  });

  test('expired sessions are removed in bounded steps', async () => {
    const userId = await createUser(store);
    for (let n = 1; n <= 6; n++) await store.sessions.create(newSession(userId, `s${n}`, NOW + n));
    assert.equal(await store.sessions.sweep(100, NOW), 0);
    assert.equal(await store.sessions.sweep(2, NOW + 4), 2);
    assert.equal(await store.sessions.sweep(100, NOW + 4), 2);
    assert.ok(await store.sessions.findUser('s5', NOW));
  });

  const sweeperAt = (now: number): Sweeper => {
    const config = readConfig({});
    const keys = new Keyring('a secret for tests that is long enough', Number.POSITIVE_INFINITY);
    const logDestination = { write: () => {} };
    const log = pino({ level: 'silent' }, logDestination);
    // Times of these tests are not those of the database server.
    const agreeing = { ...store, clock: agreeingClock };
    return new Sweeper(createApp({ store: agreeing, config, keys, now: () => now, log, logDestination }));
  };

  test('the sweeper removes grants that expired an access token’s lifetime ago, in several steps, and starts over', async () => {
    const { expired, live } = await manyGrants(2_500);
    const ended = newGrant(await createUser(store));
    await store.grants.create(ended);
    await store.grants.revoke({ ...ended, generation: 0 }, CLIENT, NOW);

    const early = sweeperAt(NOW - 7 + HOUR - 1);
    assert.deepEqual([await early.step(), await early.step(), await early.step()], [false, false, true]);
    assert.equal(await countThere(expired), expired.length);

    const sweeper = sweeperAt(NOW + HOUR);
    const ends = [];
    for (let n = 0; n < 6; n++) ends.push(await sweeper.step());
    // 1,668 of 2,501 grants are left after the first round, so the second takes two steps.
    assert.deepEqual(ends, [false, false, true, false, true, false]);
    assert.deepEqual([await countThere(expired), await countThere(live)], [0, live.length]);
    assert.deepEqual(await redeem(store, { ...ended, generation: 0 }), {
      outcome: 'refused',
      reason: 'grant_revoked',
    });
  });

  test('the sweeper runs until it is stopped', { timeout: 30_000 }, async () => {
    const { expired, live } = await manyGrants(30);
    const sweeper = sweeperAt(NOW + HOUR);
    sweeper.start();
    try {
      await eventually(async () => (await countThere(expired)) === 0, 20_000);
      assert.equal(await countThere(live), live.length);
    } finally {
      await sweeper.stop();
    }
  });
}
