import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../../src/protocol/credentials.ts';
import type { User } from '../../../src/store/users.ts';
import { createUser, DAY, database, HOUR, NOW, newSession, newUser, type Opened } from './fixtures.ts';

const newLink = (userId: string, tokenHash: string, email: string) =>
  ({ userId, tokenHash, purpose: 'reset_password', email, expiresAt: NOW + HOUR }) as const;

export function userContract(open: () => Promise<Opened>): void {
  const db = database(open);

  test('a user is found by id and by email address, as created', async () => {
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

  test('an email address belongs to one user, whatever its case', async () => {
    const email = `one.${newId()}@example.com`;
    const first = await createUser(db.store, { email });
    assert.equal(await db.store.users.create(newUser({ email: email.toUpperCase() })), 'email_taken');
    assert.equal((await db.store.users.findByEmail(email))?.id, first);
  });

  test('an email address belongs to one user, in every Unicode form and with the domain in ASCII', async () => {
    const local = `zoë.${newId()}`;
    const id = await createUser(db.store, { email: `${local}@bücher.example` });
    const spellings = [`${local}@bücher.example`.normalize('NFD'), `${local}@xn--bcher-kva.example`];
    for (const email of spellings) {
      assert.equal(await db.store.users.create(newUser({ email })), 'email_taken');
      assert.equal((await db.store.users.findByEmail(email))?.id, id);
    }
    assert.equal((await db.store.users.find(id))?.email, `${local}@bücher.example`);
  });

  test('a failed creation takes no email address', async () => {
    const id = await createUser(db.store);
    const email = `free.${newId()}@example.com`;
    await db.store.users.create(newUser({ id, email })).catch(() => {});
    assert.equal(await db.store.users.findByEmail(email), undefined);
    assert.equal(await db.store.users.create(newUser({ email })), 'created');
  });

  test('the list is ordered by creation', async () => {
    const later = await createUser(db.store, { now: NOW + 2 });
    const earlier = await createUser(db.store, { now: NOW + 1 });
    const ids = (await db.store.users.list()).filter(({ createdAt }) => createdAt > NOW).map(({ id }) => id);
    assert.deepEqual(ids, [earlier, later]);
  });

  test('changes to an unknown user return false', async () => {
    assert.equal(await db.store.users.setDisabled(newId(), true, NOW), false);
    assert.equal(await db.store.users.verifyEmail(newId(), NOW), false);
    assert.equal(await db.store.users.setPassword(newId(), 'other', NOW), false);
  });

  test('a user can be disabled and enabled again', async () => {
    const id = await createUser(db.store);
    assert.equal(await db.store.users.setDisabled(id, true, NOW + 1), true);
    assert.equal((await db.store.users.find(id))?.disabledAt, NOW + 1);
    assert.equal(await db.store.users.setDisabled(id, false, NOW + 2), true);
    assert.equal((await db.store.users.find(id))?.disabledAt, null);
  });

  test('an email address can be verified', async () => {
    const id = await createUser(db.store);
    assert.equal((await db.store.users.find(id))?.emailVerified, false);
    assert.equal(await db.store.users.verifyEmail(id, NOW + 1), true);
    assert.equal(await db.store.users.verifyEmail(id, NOW + 2), true);
    assert.equal((await db.store.users.find(id))?.emailVerified, true);
  });

  test('a changed email address invalidates mailed links; a change that fails leaves them', async () => {
    const [id, other] = [await createUser(db.store), await createUser(db.store)];
    const [from, taken, to] = [`${id}@example.com`, `${other}@example.com`, `new.${id}@example.com`];
    await db.store.mailLinks.create(newLink(id, 'link', from));
    const isLinkLive = async () =>
      (await db.store.mailLinks.find(id, 'link', 'reset_password', NOW)) !== undefined;

    assert.equal(await db.store.users.changeEmail(id, 'old@example.com', to, NOW), 'stale');
    assert.equal(await isLinkLive(), true);
    assert.equal(await db.store.users.changeEmail(id, from, taken, NOW), 'taken');
    assert.equal(await isLinkLive(), true);
    assert.equal((await db.store.users.findByEmail(from))?.id, id);

    assert.equal(await db.store.users.changeEmail(id, from, to, NOW), 'changed');
    assert.equal(await isLinkLive(), false);
    assert.equal((await db.store.users.findByEmail(to))?.id, id);
    assert.equal(await db.store.users.findByEmail(from), undefined);
  });

  test('a new password ends the user’s other sessions and nobody else’s', async () => {
    const [id, other] = [await createUser(db.store), await createUser(db.store)];
    const session = (owner: string, name: string) =>
      db.store.sessions.create(newSession(owner, `${owner} ${name}`, NOW + DAY));
    await Promise.all([session(id, 'a'), session(id, 'b'), session(other, 'a')]);
    const user = async (owner: string, name: string) =>
      (await db.store.sessions.findUser(`${owner} ${name}`, NOW))?.id;
    assert.equal(await db.store.users.setPassword(id, 'second', NOW + 1, { keepSession: `${id} b` }), true);
    assert.deepEqual(
      [await user(id, 'a'), await user(id, 'b'), await user(other, 'a')],
      [undefined, id, other],
    );
    const found = await db.store.users.find(id);
    assert.deepEqual([found?.passwordHash, found?.updatedAt], ['second', NOW + 1]);
    await db.store.users.setPassword(id, 'third', NOW + 2);
    assert.equal(await user(id, 'b'), undefined);
  });

  test('a new password ends every mailed link, but not those that undo an email change', async () => {
    const id = await createUser(db.store);
    const purposes = ['verify_email', 'change_email', 'reset_password', 'undo_email_change'] as const;
    for (const purpose of purposes)
      await db.store.mailLinks.create({ ...newLink(id, purpose, 'a'), purpose });
    await db.store.users.setPassword(id, 'second', NOW);
    const found = await Promise.all(purposes.map((one) => db.store.mailLinks.find(id, one, one, NOW)));
    assert.deepEqual(found, [undefined, undefined, undefined, { email: 'a', expiresAt: NOW + HOUR }]);
  });

  test('a password can be changed, and a link created, only while the password is a given one', async () => {
    const id = await createUser(db.store, { passwordHash: 'first' });
    assert.equal(await db.store.users.setPassword(id, 'second', NOW, { from: 'first' }), true);
    assert.equal(await db.store.users.setPassword(id, 'third', NOW, { from: 'first' }), false);
    assert.equal((await db.store.users.find(id))?.passwordHash, 'second');
    const create = (tokenHash: string, passwordHash: string) =>
      db.store.mailLinks.create({ ...newLink(id, tokenHash, 'a'), passwordHash });
    assert.deepEqual([await create('old', 'first'), await create('new', 'second')], [false, true]);
    assert.equal(await db.store.mailLinks.find(id, 'old', 'reset_password', NOW), undefined);
    assert.equal(await db.store.mailLinks.take(id, 'new', 'reset_password', NOW), 'a');
  });

  test('an email change is undone once, with a new password; only links that undo an earlier one stay', async () => {
    const id = await createUser(db.store);
    const { users, mailLinks, sessions } = db.store;
    const first = `${id}@example.com`;
    const undo = { purpose: 'undo_email_change' } as const;
    for (const [name, expiresAt] of Object.entries({ earlier: NOW + 1, own: NOW + 2, later: NOW + 3 }))
      await mailLinks.create({ ...newLink(id, name, first), ...undo, expiresAt });
    await mailLinks.create(newLink(id, 'reset', 'x'));
    await sessions.create(newSession(id, id, NOW + DAY));
    await users.changeEmail(id, first, `second.${first}`, NOW);
    const user = (await users.find(id))!;
    const link = (await mailLinks.find(id, 'own', 'undo_email_change', NOW))!;

    assert.equal(await users.undoEmailChange({ ...user, passwordHash: 'other' }, link, 'x', NOW), 'stale');
    const uses = ['new', 'newer'].map((hash) => users.undoEmailChange(user, link, hash, NOW));
    assert.deepEqual((await Promise.all(uses)).sort(), ['changed', 'stale']);
    const { email, emailVerified, passwordHash } = (await users.find(id))!;
    assert.deepEqual([email, emailVerified], [first, true]);
    assert.match(passwordHash, /^new/);
    assert.equal((await users.findByEmail(first))?.id, id);
    assert.equal(await users.findByEmail(`second.${first}`), undefined);
    assert.equal(await sessions.findUser(id, NOW), undefined);
    const live = await Promise.all(
      ['earlier', 'own', 'later'].map((name) => mailLinks.find(id, name, 'undo_email_change', NOW)),
    );
    assert.deepEqual(
      live.map((one) => one !== undefined),
      [true, false, false],
    );
    assert.equal(await mailLinks.find(id, 'reset', 'reset_password', NOW), undefined);
  });

  test('an email change cannot be undone to an address that somebody else has now', async () => {
    const [id, other] = [await createUser(db.store), await createUser(db.store)];
    const user = (await db.store.users.find(id))!;
    const link = { email: `${other}@example.com`, expiresAt: NOW + DAY };
    assert.equal(await db.store.users.undoEmailChange(user, link, 'new', NOW), 'taken');
    assert.equal((await db.store.users.find(id))?.passwordHash, 'hash');
    const same = { ...link, email: user.email.toUpperCase() };
    assert.equal(await db.store.users.undoEmailChange(user, same, 'new', NOW), 'changed');
    assert.equal((await db.store.users.findByEmail(user.email))?.id, id);
  });

  test('a new session ends the oldest beyond a hundred, of the same user', async () => {
    const [id, other] = [await createUser(db.store), await createUser(db.store)];
    await db.store.sessions.create(newSession(other, other, NOW + DAY));
    const create = (n: number) =>
      db.store.sessions.create({ ...newSession(id, `${id} ${n}`, NOW + DAY), now: NOW + n });
    for (let n = 0; n < 102; n++) assert.equal(await create(n), true);
    const live = await db.store.sessions.list(id, NOW);
    assert.deepEqual([live.length, live[0]?.idHash, live[99]?.idHash], [100, `${id} 101`, `${id} 2`]);
    assert.equal((await db.store.sessions.findUser(other, NOW))?.id, other);
    for (const n of [0, 1]) assert.equal(await db.store.sessions.findUser(`${id} ${n}`, NOW), undefined);
  });

  test('a session is created only while the password is a given one', async () => {
    const id = await createUser(db.store, { passwordHash: 'first' });
    const create = (passwordHash: string) =>
      db.store.sessions.create({ ...newSession(id, id, NOW + DAY), passwordHash });
    assert.deepEqual([await create('other'), await create('first')], [false, true]);
    assert.equal((await db.store.sessions.findUser(id, NOW))?.id, id);
  });

  test('a session lasts until it is ended, expires or its user is disabled', async () => {
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
