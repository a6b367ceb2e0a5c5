import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import type { Store } from '../../src/store/store.ts';
import { addUser, Postern } from '../support/command-line.ts';

const MINUTE_MS = 60_000;
const CODE_CHALLENGE = 'a challenge';
const REDIRECT_URI = 'https://client.example/callback';

/** A grant whose only refresh token expires at `expiresAt`. */
async function addGrant(store: Store, userId: string, expiresAt: number) {
  const [now, grantId, clientId] = [Date.now(), newId(), 'app_1'];
  const binding = { clientId, redirectUri: REDIRECT_URI, codeChallenge: CODE_CHALLENGE, now };
  const scope = parseScope('profile')!;
  await store.grants.create({ userId, grantId, scope, ...binding, expiresAt: now + MINUTE_MS });
  const code = { userId, grantId, generation: 0 };
  const { outcome } = await store.grants.redeemCode({ ref: code, ...binding, expiresAt });
  assert.equal(outcome, 'redeemed');
  return { ...code, generation: 1 };
}

test('restored without --yes changes nothing, and says how old the database is', async (t) => {
  const postern = new Postern(t);
  const ref = await postern.withStoreReady(async (store) =>
    addGrant(store, await addUser(store, 'ada@example.com'), Date.now() + MINUTE_MS),
  );
  const { code, stderr } = await postern.run(['restored']);
  assert.equal(code, 1);
  assert.match(stderr, /Nothing was changed\..* \d{4}-\d\d-\d\d \d\d:\d\d UTC.*--yes/s);
  const { outcome } = await postern.withStore((store) => store.grants.readAccess(ref));
  assert.equal(outcome, 'live');
});

test('restored --yes revokes every grant, also one whose access token outlives its refresh token', async (t) => {
  const postern = new Postern(t);
  const refs = await postern.withStoreReady(async (store) => {
    const userId = await addUser(store, 'ada@example.com');
    const expiries = [Date.now() + MINUTE_MS, Date.now() - MINUTE_MS];
    return Promise.all(expiries.map((expiresAt) => addGrant(store, userId, expiresAt)));
  });
  const outcomes = () =>
    postern.withStore((store) =>
      Promise.all(refs.map(async (ref) => (await store.grants.readAccess(ref)).outcome)),
    );
  assert.deepEqual(await outcomes(), ['live', 'live']);
  const { grants } = await postern.json<{ grants: number }>(['restored', '--yes']);
  assert.equal(grants, 2);
  assert.deepEqual(await outcomes(), ['refused', 'refused']);
});

test('restored --yes ends sessions and mailed links: those used since the backup would work again', async (t) => {
  const postern = new Postern(t);
  const userId = await postern.withStoreReady(async (store) => {
    const id = await addUser(store, 'ada@example.com');
    const [now, expiresAt] = [Date.now(), Date.now() + MINUTE_MS];
    await store.sessions.create({
      idHash: 'session',
      userId: id,
      now,
      expiresAt,
      address: '',
      userAgent: '',
    });
    await store.mailLinks.create({
      userId: id,
      tokenHash: 'reset',
      purpose: 'reset_password',
      email: 'ada@example.com',
      expiresAt,
    });
    await store.signUps.create({
      tokenHash: 'sign-up',
      email: 'new@example.com',
      name: 'New',
      passwordHash: 'none',
      browserHash: '',
      expiresAt,
    });
    return id;
  });
  const found = () =>
    postern.withStore(async ({ sessions, mailLinks, signUps }) => [
      (await sessions.findUser('session', Date.now())) !== undefined,
      (await mailLinks.find(userId, 'reset', 'reset_password', Date.now())) !== undefined,
      (await signUps.find('sign-up', Date.now())) !== undefined,
    ]);
  assert.deepEqual(await found(), [true, true, true]);
  assert.deepEqual(await postern.json(['restored', '--yes']), { grants: 0, sessions: 1, mail_links: 2 });
  assert.deepEqual(await found(), [false, false, false]);
});
