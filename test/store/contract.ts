import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { hashClientSecret, newClientSecret } from '../../src/protocol/client-secret.ts';
import { type GrantRef, newId } from '../../src/protocol/credentials.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import type { Application, NewApplication } from '../../src/store/applications.ts';
import { DuplicateKey } from '../../src/store/drivers/driver.ts';
import type { CodeRedemption, NewGrant, Rotation, SweepPosition } from '../../src/store/grants.ts';
import { allMigrations } from '../../src/store/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import type { NewUser, User } from '../../src/store/users.ts';
import { Sweeper } from '../../src/sweeper.ts';
import { migrationContract } from './contract/migrations.ts';

/** An empty database, opened. */
export type Opened = {
  readonly store: Store;
  /** As POSTERN_DATABASE_URL names it. */
  readonly url: string;
  /** Another connection to the same database, as another process has one. */
  readonly another: () => Promise<Store>;
  readonly close: () => Promise<void>;
};

const NOW = Date.UTC(2030, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CODE_TTL = 5 * MINUTE;
const REFRESH_TTL = 30 * DAY;
const PROFILE = parseScope('profile')!;
const EMAIL = parseScope('email')!;
const BOTH = PROFILE | EMAIL;
const URI = 'https://client.example/callback';
const CHALLENGE = 'c'.repeat(43);
const CLIENT = 'app_contract';

/** Everything that Postern expects of a database, whichever it is. */
export function storeContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name}: grants`, () => grantContract(open));
  describe(`${name}: sweeping`, () => sweepContract(open));
  describe(`${name}: applications`, () => applicationContract(open));
  describe(`${name}: users and sessions`, () => userContract(open));
  describe(`${name}: counters`, () => counterContract(open));
  describe(`${name}: writes at once`, () => concurrencyContract(open));
  describe(`${name}: migrations`, () => migrationContract(open));
  describe(`${name}: schema and connection`, () => schemaContract(open));
}

/** A migrated database for the tests of one group; each test makes its own users and grants in it. */
function database(open: () => Promise<Opened>): { readonly store: Store; readonly opened: Opened } {
  let opened: Opened;
  before(async () => {
    opened = await open();
    await opened.store.migrate();
  });
  after(() => opened.close());
  return {
    get store() {
      return opened.store;
    },
    get opened() {
      return opened;
    },
  };
}

const newUser = (changes: Partial<NewUser> = {}): NewUser => {
  const id = newId();
  const defaults = {
    id,
    email: `${id}@example.com`,
    emailVerified: false,
    name: 'Ada',
    passwordHash: 'hash',
  };
  return { ...defaults, now: NOW, ...changes };
};

async function createUser(store: Store, changes: Partial<NewUser> = {}): Promise<string> {
  const user = newUser(changes);
  assert.equal(await store.users.create(user), 'created');
  return user.id;
}

const newGrant = (userId: string, changes: Partial<NewGrant> = {}): NewGrant => ({
  userId,
  grantId: newId(),
  clientId: CLIENT,
  scope: BOTH,
  redirectUri: URI,
  codeChallenge: CHALLENGE,
  now: NOW,
  expiresAt: NOW + CODE_TTL,
  ...changes,
});

/** A grant whose code was just issued. */
async function issueCode(store: Store, changes: Partial<NewGrant> = {}): Promise<GrantRef> {
  const grant = newGrant(changes.userId ?? (await createUser(store)), changes);
  assert.equal(await store.grants.create(grant), true);
  return { userId: grant.userId, grantId: grant.grantId, generation: 0 };
}

async function redeem(store: Store, ref: GrantRef, changes: Partial<CodeRedemption> = {}) {
  const now = changes.now ?? NOW;
  const outcome = await store.grants.redeemCode({
    ref,
    clientId: CLIENT,
    redirectUri: URI,
    codeChallenge: CHALLENGE,
    now,
    expiresAt: now + REFRESH_TTL,
    ...changes,
  });
  return withoutGrant(outcome);
}

async function rotate(store: Store, ref: GrantRef, changes: Partial<Rotation> = {}) {
  const now = changes.now ?? NOW;
  const outcome = await store.grants.rotate({
    ref,
    clientId: CLIENT,
    scope: undefined,
    now,
    expiresAt: now + REFRESH_TTL,
    codesExpiredBefore: now - CODE_TTL,
    ...changes,
  });
  return withoutGrant(outcome);
}

type Bare<T> = T extends unknown ? Omit<T, 'grant'> : never;

/** The outcome alone. What it tells of the grant besides is for the developer's request log, and tested there. */
function withoutGrant<T extends object>(outcome: T): Bare<T> {
  const { grant: _, ...bare } = outcome as T & { grant?: unknown };
  return bare as unknown as Bare<T>;
}

const at = (ref: GrantRef, generation: number): GrantRef => ({ ...ref, generation });

/** A grant that has come to its n-th refresh token; the ref is that token. */
async function issueTokens(store: Store, generation = 1, changes: Partial<NewGrant> = {}): Promise<GrantRef> {
  const code = await issueCode(store, changes);
  assert.equal(
    (await redeem(store, code, changes.clientId ? { clientId: changes.clientId } : {})).outcome,
    'redeemed',
  );
  for (let n = 1; n < generation; n++) assert.equal((await rotate(store, at(code, n))).outcome, 'rotated');
  return at(code, generation);
}

const isLive = async (store: Store, ref: GrantRef): Promise<boolean> =>
  (await store.grants.readAccess(ref)).outcome === 'live';

// ---- grants ---------------------------------------------------------------------------------

function grantContract(open: () => Promise<Opened>): void {
  const db = database(open);

  test('a grant is made for an enabled user and for nobody else', async () => {
    const userId = await createUser(db.store);
    assert.equal(await db.store.grants.create(newGrant(userId)), true);
    assert.equal(await db.store.grants.create(newGrant(newId())), false);
    await db.store.users.setDisabled(userId, true, NOW);
    const refused = newGrant(userId);
    assert.equal(await db.store.grants.create(refused), false);
    assert.equal(await db.store.grants.codeIsLive(userId, refused.grantId, NOW), false);
  });

  test('the same grant twice is the first one, while its code is unused', async () => {
    const userId = await createUser(db.store);
    const grant = newGrant(userId, { scope: PROFILE });
    const ref = { userId, grantId: grant.grantId, generation: 0 };
    assert.equal(await db.store.grants.create(grant), true);
    const again = { ...grant, scope: BOTH, redirectUri: 'https://other.example/', expiresAt: NOW + DAY };
    assert.equal(await db.store.grants.create(again), true);
    const refused = await redeem(db.store, ref, { redirectUri: again.redirectUri });
    assert.deepEqual(refused, { outcome: 'refused', reason: 'wrong_redirect_uri' });
    assert.deepEqual(await redeem(db.store, ref), { outcome: 'redeemed', scope: PROFILE });
    assert.equal(await db.store.grants.create(grant), false);
  });

  test('the same grant twice is none when its code expired', async () => {
    const grant = newGrant(await createUser(db.store));
    await db.store.grants.create(grant);
    assert.equal(await db.store.grants.create({ ...grant, now: grant.expiresAt }), false);
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
      ['the redirect URI in other case', { redirectUri: URI.toUpperCase() }, 'wrong_redirect_uri'],
      ['another verifier', { codeChallenge: 'd'.repeat(43) }, 'wrong_verifier'],
      ['no verifier', { codeChallenge: undefined }, 'wrong_verifier'],
      ['the moment of expiry', { now: NOW + CODE_TTL }, 'expired'],
      ['everything wrong', { clientId: 'x', redirectUri: 'x', codeChallenge: 'x' }, 'wrong_client'],
    ];
    for (const [what, changes, reason] of refusals) {
      test(`is refused for ${what}, and the code stays as it was`, async () => {
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

    test('starts the refresh token’s own life', async () => {
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
    test('cuts the grant when everything is right, once, however late', async () => {
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

    test('changes nothing once a rotation after the code’s life has forgotten what it was bound to', async () => {
      const kept = await issueTokens(db.store);
      await rotate(db.store, kept, { now: NOW + CODE_TTL - 1 });
      assert.deepEqual(await redeem(db.store, at(kept, 0)), { outcome: 'replayed', revoked: true });

      const forgotten = await issueTokens(db.store);
      await rotate(db.store, forgotten, { now: NOW + CODE_TTL });
      assert.deepEqual(await redeem(db.store, at(forgotten, 0)), { outcome: 'replayed', revoked: false });
      assert.equal(await isLive(db.store, forgotten), true);
    });
  });

  describe('rotating', () => {
    test('goes on ref by ref, each time with a new life', async () => {
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

    test('refuses a scope beyond the grant’s and consumes nothing', async () => {
      const ref = await issueTokens(db.store, 1, { scope: PROFILE });
      for (const scope of [EMAIL, BOTH, 4, 1 << 20]) {
        assert.deepEqual(await rotate(db.store, ref, { scope }), { outcome: 'scope_exceeded' });
      }
      assert.deepEqual(await rotate(db.store, ref), { outcome: 'rotated', scope: PROFILE });
    });

    test('works for a grant without any scope', async () => {
      const ref = await issueTokens(db.store, 1, { scope: 0 });
      assert.deepEqual(await rotate(db.store, ref), { outcome: 'rotated', scope: 0 });
    });

    const refusals: [string, Partial<Rotation>, string][] = [
      ['another client', { clientId: 'app_other' }, 'wrong_client'],
      ['another client that asks for too much', { clientId: 'app_other', scope: 4 }, 'wrong_client'],
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

    test('a ref ahead of the grant, which a restored backup makes possible, is refused and ends the grant', async () => {
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
      test(`a consumed ref of any age, presented by ${who}, cuts the grant, once`, async () => {
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

    test('reuse cuts whatever scope is asked for, and for a disabled user too', async () => {
      const ref = await issueTokens(db.store, 2);
      await db.store.users.setDisabled(ref.userId, true, NOW);
      assert.deepEqual(await rotate(db.store, at(ref, 1), { scope: 4 }), {
        outcome: 'reused',
        revoked: true,
      });
      await db.store.users.setDisabled(ref.userId, false, NOW);
      assert.equal(await isLive(db.store, ref), false);
    });

    test('of many at once exactly one succeeds, and the grant is revoked', async () => {
      const ref = await issueTokens(db.store);
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => rotate(db.store, ref)));
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'rotated').length, 1);
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'reused').length, 19);
      assert.equal(outcomes.filter((one) => one.outcome === 'reused' && one.revoked).length, 1);
      assert.deepEqual(await rotate(db.store, at(ref, 2)), { outcome: 'refused', reason: 'grant_revoked' });
    });
  });

  describe('revoking', () => {
    test('a refresh token, current or consumed, ends the grant', async () => {
      for (const generation of [1, 2, 3]) {
        const ref = await issueTokens(db.store, 3);
        await db.store.grants.revoke(at(ref, generation), CLIENT, NOW);
        assert.equal(await isLive(db.store, ref), false);
        assert.deepEqual(await rotate(db.store, ref), { outcome: 'refused', reason: 'grant_revoked' });
        await db.store.grants.revoke(ref, CLIENT, NOW);
      }
    });

    test('another client’s token, or one of nobody, changes nothing', async () => {
      const ref = await issueTokens(db.store);
      await db.store.grants.revoke(ref, 'app_other', NOW);
      await db.store.grants.revoke({ ...ref, grantId: newId() }, CLIENT, NOW);
      await db.store.revokedAccessTokens.add(ref, 'app_other', NOW + HOUR);
      await db.store.revokedAccessTokens.add({ ...ref, grantId: newId() }, CLIENT, NOW + HOUR);
      assert.equal(await isLive(db.store, ref), true);
      assert.equal((await rotate(db.store, ref)).outcome, 'rotated');
    });

    test('an access token ends itself alone, and twice is once', async () => {
      const ref = await issueTokens(db.store, 3);
      await db.store.revokedAccessTokens.add(at(ref, 2), CLIENT, NOW + HOUR);
      await db.store.revokedAccessTokens.add(at(ref, 2), CLIENT, NOW + HOUR);
      const live = await Promise.all([1, 2, 3].map((n) => isLive(db.store, at(ref, n))));
      assert.deepEqual(live, [true, false, true]);
      assert.equal((await rotate(db.store, ref)).outcome, 'rotated');
    });

    test('an access token of a grant that is revoked already is no error', async () => {
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

    test('is refused where there is no such grant, no such ref yet, or the user is disabled', async () => {
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

// ---- sweeping -------------------------------------------------------------------------------

function sweepContract(open: () => Promise<Opened>): void {
  let opened: Opened;
  let store: Store;
  beforeEach(async () => {
    await opened?.close();
    opened = await open();
    ({ store } = opened);
    await store.migrate();
  });
  after(() => opened?.close());

  /** Grants of a few users, every third of them expired at NOW. */
  async function manyGrants(count: number): Promise<{ expired: NewGrant[]; live: NewGrant[] }> {
    const users = await Promise.all(Array.from({ length: 5 }, () => createUser(store)));
    const grants = Array.from({ length: count }, (_, n) =>
      newGrant(users[n % users.length]!, { expiresAt: n % 3 === 0 ? NOW - (n % 7) : NOW + 1 + (n % 7) }),
    );
    await Promise.all(grants.map((grant) => store.grants.create({ ...grant, now: NOW - CODE_TTL })));
    const expired = grants.filter(({ expiresAt }) => expiresAt <= NOW);
    return { expired, live: grants.filter((grant) => !expired.includes(grant)) };
  }

  /** At the beginning of time nothing has expired: an unused code is live exactly when its row is there. */
  const isThere = ({ userId, grantId }: NewGrant) => store.grants.codeIsLive(userId, grantId, 0);
  const countThere = async (grants: readonly NewGrant[]) =>
    (await Promise.all(grants.map(isThere))).filter(Boolean).length;

  test('a walk in small steps removes exactly what expired, each step bounded', async () => {
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

  test('a walk ends at once in an empty table, and where the last step was full', async () => {
    const start = { userId: '', grantId: '' };
    assert.deepEqual(await store.grants.sweep(start, 10, NOW, NOW), { removed: 0, live: 0, next: undefined });
    await manyGrants(10);
    const { removed, next } = await store.grants.sweep(start, 10, NOW, NOW);
    assert.ok(removed > 0 && next);
    assert.deepEqual(await store.grants.sweep(next, 10, NOW, NOW), { removed: 0, live: 0, next: undefined });
  });

  test('a grant that is rotated while the walk goes on is kept', async () => {
    const ref = await issueTokens(store);
    const late = NOW + REFRESH_TTL - 1;
    await rotate(store, ref, { now: late });
    await store.grants.sweep({ userId: '', grantId: '' }, 10, late + 2, late + 2);
    assert.equal(await isLive(store, at(ref, 2)), true);
  });

  test('revoked access tokens are remembered until they would have expired, and go in bounded steps', async () => {
    const ref = await issueTokens(store, 10);
    for (let n = 1; n <= 10; n++) await store.revokedAccessTokens.add(at(ref, n), CLIENT, NOW + n);
    assert.equal(await store.revokedAccessTokens.sweep(100, NOW), 0);
    assert.equal(await store.revokedAccessTokens.sweep(2, NOW + 5), 2);
    assert.equal(await store.revokedAccessTokens.sweep(100, NOW + 5), 3);
    assert.equal(await isLive(store, at(ref, 6)), false);
    assert.equal(await store.revokedAccessTokens.sweep(100, NOW + 100), 5);
  });

  test('sessions go when they expired, in bounded steps', async () => {
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
    return new Sweeper(createApp({ store, config, keys, now: () => now, log, logDestination }));
  };

  test('the sweeper removes what expired an access token’s life ago, over several steps, and goes round', async () => {
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
    // 1,668 of 2,501 are left after the first round, so the second takes two steps.
    assert.deepEqual(ends, [false, false, true, false, true, false]);
    assert.deepEqual([await countThere(expired), await countThere(live)], [0, live.length]);
    assert.deepEqual(await redeem(store, { ...ended, generation: 0 }), {
      outcome: 'refused',
      reason: 'grant_revoked',
    });
  });

  test('the sweeper works by itself until it is stopped', { timeout: 30_000 }, async () => {
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

// ---- applications ---------------------------------------------------------------------------

const newApplication = (changes: Partial<NewApplication> = {}): NewApplication => ({
  clientId: `app_${newId()}`,
  ownerId: 'owner',
  name: 'Photo “Wall” – ☃',
  redirectUris: [URI, 'http://localhost:4000/?a=b&c=%20'],
  scope: BOTH,
  optionalScope: EMAIL,
  secret: newClientSecret(),
  now: NOW,
  ...changes,
});

function applicationContract(open: () => Promise<Opened>): void {
  const db = database(open);
  const find = async (clientId: string, store = db.store) => store.applications.find(clientId);
  async function create(changes: Partial<NewApplication> = {}): Promise<NewApplication> {
    const application = newApplication(changes);
    await db.store.applications.create(application);
    return application;
  }

  test('an application is found as it was created', async () => {
    const { secret, now, ...rest } = await create();
    const found = (await find(rest.clientId))!;
    const { secrets, ...fields } = found;
    const unset = { homepageUrl: null, disabledAt: null, disabledBy: null };
    assert.deepEqual(fields, { ...rest, ...unset, createdAt: now, updatedAt: now });
    assert.equal(secrets.length, 1);
    const { id, ...kept } = secrets[0]!;
    assert.match(id, /./);
    assert.deepEqual(kept, {
      hash: hashClientSecret(secret),
      tail: secret.slice(-4),
      createdAt: now,
      expiresAt: null,
      lastUsedAt: null,
    });
    assert.deepEqual(await find(rest.clientId), found);
  });

  test('an id that nobody has is not found, whatever it looks like', async () => {
    for (const id of [
      'app_nobody',
      '',
      ' ',
      "' OR 1=1 --",
      'é',
      'a'.repeat(65),
      'a'.repeat(100_000),
      '%',
      '\0',
    ])
      assert.equal(await find(id), undefined);
    const { clientId } = await create({ clientId: `app_Case${newId()}` });
    assert.equal(await find(clientId.toLowerCase()), undefined);
  });

  test('the list is in the order of creation, with each one’s secrets', async () => {
    const first = await create({ now: NOW + 2 });
    const second = await create({ now: NOW + 3 });
    const earlier = await create({ now: NOW + 1 });
    const list = (await db.store.applications.list()).filter(({ createdAt }) => createdAt > NOW);
    const ours = [earlier, first, second];
    assert.deepEqual(
      list.map(({ clientId, secrets }) => [clientId, secrets.map(({ hash }) => hash)]),
      ours.map(({ clientId, secret }) => [clientId, [hashClientSecret(secret)]]),
    );
  });

  test('the same id twice is refused, and nothing of the second is kept', async () => {
    const { clientId, secret } = await create();
    await assert.rejects(create({ clientId, name: 'Impostor', secret: newClientSecret() }), DuplicateKey);
    const found = (await find(clientId))!;
    assert.equal(found.name, newApplication().name);
    assert.deepEqual(
      found.secrets.map(({ hash }) => hash),
      [hashClientSecret(secret)],
    );
  });

  test('it is disabled and enabled again', async () => {
    const { clientId } = await create();
    assert.equal(await db.store.applications.setDisabled(clientId, true, NOW + 1), true);
    assert.deepEqual(disabledAndUpdated(await find(clientId)), [NOW + 1, NOW + 1]);
    assert.equal(await db.store.applications.setDisabled(clientId, false, NOW + 2), true);
    assert.deepEqual(disabledAndUpdated(await find(clientId)), [null, NOW + 2]);
    assert.equal(await db.store.applications.setDisabled('app_nobody', true, NOW), false);
  });

  test('a new secret ends the one before when it says, and those before that at once', async () => {
    const { clientId, secret } = await create();
    const [second, third] = [newClientSecret(), newClientSecret()];
    const { rotateSecret } = {
      rotateSecret: (text: string, ends: number, now: number) =>
        db.store.applications.rotateSecret(clientId, text, ends, now),
    };
    const lives = async () => (await find(clientId))!.secrets.map(({ hash, expiresAt }) => [hash, expiresAt]);
    assert.equal(await rotateSecret(second, NOW + DAY, NOW + 1), true);
    assert.deepEqual(await lives(), [
      [hashClientSecret(secret), NOW + DAY],
      [hashClientSecret(second), null],
    ]);
    await rotateSecret(third, NOW + 2 * DAY, NOW + 2);
    assert.deepEqual(await lives(), [
      [hashClientSecret(second), NOW + 2 * DAY],
      [hashClientSecret(third), null],
    ]);
    // An overlap of nothing ends the one before at once.
    const fourth = newClientSecret();
    await rotateSecret(fourth, NOW + DAY, NOW + DAY);
    assert.deepEqual(await lives(), [
      [hashClientSecret(third), NOW + DAY],
      [hashClientSecret(fourth), null],
    ]);
    assert.equal(await db.store.applications.rotateSecret('app_nobody', second, NOW, NOW), false);
  });

  test('it is deleted with its secrets', async () => {
    const { clientId } = await create();
    assert.equal(await db.store.applications.delete(clientId), true);
    assert.equal(await find(clientId), undefined);
    assert.equal(await db.store.applications.delete(clientId), false);
    await create({ clientId });
    assert.equal((await find(clientId))!.secrets.length, 1);
  });

  test('what another connection changes is seen within a second', { timeout: 60_000 }, async () => {
    const other = await db.opened.another();
    try {
      const seen = async (
        change: () => Promise<unknown>,
        isSeen: (found: Application | undefined) => boolean,
      ) => {
        await find(clientId);
        await change();
        await eventually(async () => isSeen(await find(clientId)), 2_000);
      };
      const { clientId } = await create();
      const { applications } = other;
      await seen(
        () => applications.setDisabled(clientId, true, NOW),
        (found) => found?.disabledAt === NOW,
      );
      await seen(
        () => applications.setDisabled(clientId, false, NOW),
        (found) => found?.disabledAt === null,
      );
      await seen(
        () => applications.rotateSecret(clientId, newClientSecret(), NOW, NOW),
        (found) => found?.secrets.length === 2,
      );
      await seen(
        () => applications.delete(clientId),
        (found) => found === undefined,
      );
      await seen(
        () => applications.create(newApplication({ clientId })),
        (found) => found !== undefined,
      );
    } finally {
      await other.close();
    }
  });

  test('a change during a read is not hidden by what the read found', async () => {
    for (let round = 0; round < 20; round++) {
      const { clientId } = await create();
      const reading = find(clientId);
      const changing = db.store.applications.setDisabled(clientId, true, NOW);
      await Promise.all([reading, changing, find(clientId)]);
      assert.equal((await find(clientId))?.disabledAt, NOW);
    }
  });
}

const disabledAndUpdated = (application: Application | undefined) => [
  application?.disabledAt,
  application?.updatedAt,
];

// ---- users and sessions ---------------------------------------------------------------------

const newSession = (userId: string, idHash: string, expiresAt: number) => ({
  idHash,
  userId,
  now: NOW,
  expiresAt,
  address: '127.0.0.1',
  userAgent: 'test',
});

function userContract(open: () => Promise<Opened>): void {
  const db = database(open);

  test('a user is found by id and by address, as created', async () => {
    const user = newUser({ email: ` Ada.${newId()}@Example.com `, emailVerified: true, name: 'Ada “L” ☃' });
    assert.equal(await db.store.users.create(user), 'created');
    const found = await db.store.users.find(user.id);
    assert.deepEqual(found, {
      id: user.id,
      email: user.email.trim(),
      emailVerified: true,
      name: user.name,
      preferredUsername: null,
      picture: null,
      locale: null,
      updatedAt: NOW,
      createdAt: NOW,
      disabledAt: null,
      passwordHash: 'hash',
    } satisfies User);
    for (const spelling of [user.email, user.email.toUpperCase(), user.email.toLowerCase().trim()])
      assert.deepEqual(await db.store.users.findByEmail(spelling), found);
    assert.equal(await db.store.users.find(newId()), undefined);
    assert.equal(await db.store.users.findByEmail('nobody@example.com'), undefined);
  });

  test('an address belongs to one user, however it is spelled', async () => {
    const email = `one.${newId()}@example.com`;
    const first = await createUser(db.store, { email });
    assert.equal(await db.store.users.create(newUser({ email: email.toUpperCase() })), 'email_taken');
    assert.equal((await db.store.users.findByEmail(email))?.id, first);
  });

  test('a user that cannot be created takes no address', async () => {
    const id = await createUser(db.store);
    const email = `free.${newId()}@example.com`;
    await db.store.users.create(newUser({ id, email })).catch(() => {});
    assert.equal(await db.store.users.findByEmail(email), undefined);
    assert.equal(await db.store.users.create(newUser({ email })), 'created');
  });

  test('the list is in the order of creation', async () => {
    const later = await createUser(db.store, { now: NOW + 2 });
    const earlier = await createUser(db.store, { now: NOW + 1 });
    const ids = (await db.store.users.list()).filter(({ createdAt }) => createdAt > NOW).map(({ id }) => id);
    assert.deepEqual(ids, [earlier, later]);
  });

  test('disabling, verifying and changing the password of nobody is told', async () => {
    assert.equal(await db.store.users.setDisabled(newId(), true, NOW), false);
    assert.equal(await db.store.users.verifyEmail(newId(), NOW), false);
    assert.equal(await db.store.users.setPassword(newId(), 'other', NOW), false);
  });

  test('a user is disabled and enabled again', async () => {
    const id = await createUser(db.store);
    assert.equal(await db.store.users.setDisabled(id, true, NOW + 1), true);
    assert.equal((await db.store.users.find(id))?.disabledAt, NOW + 1);
    assert.equal(await db.store.users.setDisabled(id, false, NOW + 2), true);
    assert.equal((await db.store.users.find(id))?.disabledAt, null);
  });

  test('an address is verified', async () => {
    const id = await createUser(db.store);
    assert.equal((await db.store.users.find(id))?.emailVerified, false);
    assert.equal(await db.store.users.verifyEmail(id, NOW + 1), true);
    assert.equal(await db.store.users.verifyEmail(id, NOW + 2), true);
    assert.equal((await db.store.users.find(id))?.emailVerified, true);
  });

  test('a new password ends the user’s sessions but the one named, and nobody else’s', async () => {
    const [id, other] = [await createUser(db.store), await createUser(db.store)];
    const session = (owner: string, name: string) =>
      db.store.sessions.create(newSession(owner, `${owner} ${name}`, NOW + DAY));
    await Promise.all([session(id, 'a'), session(id, 'b'), session(other, 'a')]);
    const user = async (owner: string, name: string) =>
      (await db.store.sessions.findUser(`${owner} ${name}`, NOW))?.id;
    assert.equal(await db.store.users.setPassword(id, 'second', NOW + 1, `${id} b`), true);
    assert.deepEqual(
      [await user(id, 'a'), await user(id, 'b'), await user(other, 'a')],
      [undefined, id, other],
    );
    const found = await db.store.users.find(id);
    assert.deepEqual([found?.passwordHash, found?.updatedAt], ['second', NOW + 1]);
    await db.store.users.setPassword(id, 'third', NOW + 2);
    assert.equal(await user(id, 'b'), undefined);
  });

  test('a session lasts until it ends or expires, or its user is disabled', async () => {
    const id = await createUser(db.store);
    const hash = newId();
    await db.store.sessions.create(newSession(id, hash, NOW + HOUR));
    const user = async (now: number) => (await db.store.sessions.findUser(hash, now))?.id;
    assert.deepEqual([await user(NOW + HOUR - 1), await user(NOW + HOUR)], [id, undefined]);
    await db.store.users.setDisabled(id, true, NOW);
    assert.equal(await user(NOW), undefined);
    await db.store.users.setDisabled(id, false, NOW);
    assert.equal(await user(NOW), id);
    await db.store.sessions.end(hash);
    await db.store.sessions.end(hash);
    assert.equal(await user(NOW), undefined);
    assert.equal(await db.store.sessions.findUser('nothing', NOW), undefined);
  });
}

// ---- counters -------------------------------------------------------------------------------

function counterContract(open: () => Promise<Opened>): void {
  const db = database(open);
  const hit = async (key: string, now: number, opensAt = now) => {
    const { startedAt, count } = await db.store.counters.hit(key, MINUTE, now, opensAt);
    return [startedAt, count];
  };

  test('a window counts from its first hit and ends by itself', async () => {
    const key = newId();
    assert.deepEqual(await hit(key, NOW), [NOW, 1]);
    assert.deepEqual(await hit(key, NOW + MINUTE - 1), [NOW, 2]);
    assert.deepEqual(await hit(key, NOW + MINUTE), [NOW + MINUTE, 1]);
  });

  test('a window may begin before its first hit', async () => {
    const key = newId();
    assert.deepEqual(await hit(key, NOW + 10, NOW), [NOW, 1]);
    assert.deepEqual(await hit(key, NOW + MINUTE - 1, NOW + 20), [NOW, 2]);
    assert.deepEqual(await hit(key, NOW + MINUTE, NOW + MINUTE), [NOW + MINUTE, 1]);
  });

  test('keys, and windows of different length, do not mix', async () => {
    const key = newId();
    await hit(key, NOW);
    assert.deepEqual(await hit(`${key}x`, NOW), [NOW, 1]);
    assert.equal((await db.store.counters.hit(key, HOUR, NOW, NOW)).count, 1);
  });

  test('what is taken back does not count, and never goes below nothing', async () => {
    const key = newId();
    await hit(key, NOW);
    await hit(key, NOW);
    await db.store.counters.refund(key, MINUTE);
    assert.deepEqual(await hit(key, NOW), [NOW, 2]);
    for (let n = 0; n < 5; n++) await db.store.counters.refund(key, MINUTE);
    assert.deepEqual(await hit(key, NOW), [NOW, 1]);
    await db.store.counters.refund(newId(), MINUTE);
  });

  test('hits at once are all counted', async () => {
    const key = newId();
    const counts = await Promise.all(Array.from({ length: 50 }, () => hit(key, NOW)));
    assert.equal(Math.max(...counts.map(([, count]) => count!)), 50);
  });
}

// ---- many writes at once --------------------------------------------------------------------

function concurrencyContract(open: () => Promise<Opened>): void {
  const db = database(open);

  test('a write that fails among many at once fails alone', async () => {
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
    assert.equal(grant, true);
    for (const [n, user] of users.entries()) {
      assert.equal(created[n], n % 3 === 0 ? 'email_taken' : 'created');
      assert.equal((await db.store.users.find(user.id)) !== undefined, n % 3 !== 0);
    }
    assert.equal((await db.store.users.findByEmail('taken@example.com'))?.id, taken);
  });

  test('of many at once that want one address exactly one gets it', async () => {
    const email = `wanted.${newId()}@example.com`;
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, () => db.store.users.create(newUser({ email }))),
    );
    assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 1);
  });

  test('what a resolved write did is there for every connection', { timeout: 60_000 }, async () => {
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

  test('of requests for one ref at once one succeeds, whoever else rotates with them', async () => {
    const links = await Promise.all(Array.from({ length: 25 }, () => issueTokens(db.store)));
    const thrice = [...links, ...links.toReversed(), ...links];
    const outcomes = await Promise.all(thrice.map((ref) => rotate(db.store, ref)));
    for (const ref of links) {
      const own = outcomes.filter((_, n) => thrice[n] === ref).map(({ outcome }) => outcome);
      assert.deepEqual(own.toSorted(), ['reused', 'reused', 'rotated']);
      assert.equal(await isLive(db.store, ref), false);
    }
  });

  test('of codes presented twice at once each is redeemed once', async () => {
    const links = await Promise.all(Array.from({ length: 25 }, () => issueCode(db.store)));
    const twice = [...links, ...links];
    const outcomes = await Promise.all(twice.map((ref) => redeem(db.store, ref)));
    for (const ref of links) {
      const own = outcomes.filter((_, n) => twice[n] === ref).map(({ outcome }) => outcome);
      assert.deepEqual(own.toSorted(), ['redeemed', 'replayed']);
    }
  });

  test('of many at once everybody gets the answer to what they asked, and no one else’s', async () => {
    const users = await Promise.all(
      Array.from({ length: 40 }, (_, n) => createUser(db.store, { name: `"${n}", {\\}` })),
    );
    const scopes = users.map((_, n) => (n % 2 === 0 ? BOTH : PROFILE));
    const links = await Promise.all(
      users.map((userId, n) => issueTokens(db.store, 1, { userId, scope: scopes[n]! })),
    );
    // Every fifth is refused, each in its own way: another's, a wrong client's, one that was never issued.
    const asked = links.map((ref, n) => (n % 5 === 0 ? { ...ref, grantId: newId() } : ref));
    const reads = await Promise.all(asked.map((ref) => db.store.grants.readAccess(ref)));
    for (const [n, read] of reads.entries()) {
      if (n % 5 === 0) assert.equal(read.outcome, 'refused');
      else assert.deepEqual([read.outcome, read.outcome === 'live' && read.user.id], ['live', users[n]]);
      if (read.outcome === 'live') assert.equal(read.user.name, `"${n}", {\\}`);
    }
    const rotations = await Promise.all(
      links.map((ref, n) => rotate(db.store, ref, n % 5 === 0 ? { clientId: 'app_another' } : {})),
    );
    for (const [n, rotation] of rotations.entries())
      assert.deepEqual(
        rotation,
        n % 5 === 0
          ? { outcome: 'refused', reason: 'wrong_client' }
          : { outcome: 'rotated', scope: scopes[n] },
      );
  });

  test('of grants revoked at once, some of them another application’s, the right ones end', async () => {
    const links = await Promise.all(Array.from({ length: 20 }, () => issueTokens(db.store)));
    const clients = links.map((_, n) => (n % 4 === 0 ? 'app_another' : CLIENT));
    const ended = await Promise.all(links.map((ref, n) => db.store.grants.revoke(ref, clients[n]!, NOW)));
    for (const [n, ref] of links.entries()) {
      assert.equal(ended[n], n % 4 !== 0);
      assert.equal(await isLive(db.store, ref), n % 4 === 0);
    }
  });

  test('two connections that rotate many links at once, in opposite orders: each once', {
    timeout: 60_000,
  }, async () => {
    const other = await db.opened.another();
    try {
      for (let round = 0; round < 5; round++) {
        const links = await Promise.all(Array.from({ length: 30 }, () => issueTokens(db.store)));
        const [ours, theirs] = await Promise.all([
          Promise.all(links.map((ref) => rotate(db.store, ref))),
          Promise.all(links.toReversed().map((ref) => rotate(other, ref))),
        ]);
        for (const [n, one] of ours.entries())
          assert.deepEqual([one.outcome, theirs.toReversed()[n]!.outcome].sort(), ['reused', 'rotated']);
      }
    } finally {
      await other.close();
    }
  });

  test('two connections that rotate one ref at once: one succeeds', { timeout: 60_000 }, async () => {
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

// ---- schema and connection ------------------------------------------------------------------

const POSTERN = new URL('../../bin/postern', import.meta.url).pathname;

function schemaContract(open: () => Promise<Opened>): void {
  const names = allMigrations().map(({ name }) => name);

  test('the schema is applied once', async () => {
    const { store, close } = await open();
    try {
      assert.deepEqual(await store.migrate(), names);
      assert.deepEqual(await store.migrate(), []);
      await createUser(store);
      assert.deepEqual(await store.migrate(), []);
      assert.equal((await store.users.list()).length, 1);
    } finally {
      await close();
    }
  });

  test('several processes that start together apply each part once', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
    const { store, url, close } = await open();
    try {
      const env = {
        PATH: process.env.PATH,
        POSTERN_DATABASE_URL: url,
        POSTERN_DATA_DIR: folder,
        POSTERN_SECRET: 'a secret for tests that is long enough',
      };
      const run = promisify(execFile);
      const migrate = async () => {
        const { stdout } = await run(POSTERN, ['migrate', '--json'], { env, timeout: 60_000 });
        return (JSON.parse(stdout) as { applied: string[] }).applied;
      };
      const applied = await Promise.all([migrate(), migrate(), migrate(), migrate()]);
      assert.deepEqual(applied.flat().sort(), names);
      assert.deepEqual(await store.migrate(), []);
      await createUser(store);
    } finally {
      await close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('it answers while it is open, and refuses after', async () => {
    const { store, close } = await open();
    await store.migrate();
    await store.ping();
    const userId = await createUser(store);
    await close();
    await assert.rejects(store.ping());
    await assert.rejects(store.users.find(userId));
    await assert.rejects(store.grants.create(newGrant(userId)));
  });

  test('closing waits for what was written', async () => {
    const { store, another, close } = await open();
    await store.migrate();
    const other = await another();
    try {
      const users = Array.from({ length: 100 }, () => newUser());
      const writes = Promise.all(users.map((user) => store.users.create(user)));
      await store.close();
      assert.ok((await writes).every((outcome) => outcome === 'created'));
      assert.equal((await other.users.list()).length, users.length);
    } finally {
      await other.close();
      await close();
    }
  });
}

/** Asks again until it is so. */
async function eventually(isSo: () => Promise<boolean>, deadlineMs: number): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await isSo())) {
    if (performance.now() > end) assert.fail(`not so after ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
