import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashClientSecret, newClientSecret } from '../../../src/protocol/client-secret.ts';
import { newId } from '../../../src/protocol/credentials.ts';
import type { Application, NewApplication } from '../../../src/store/applications.ts';
import { DuplicateKey } from '../../../src/store/errors.ts';
import { withinASecond } from '../../support/eventually.ts';
import { DAY, database, NOW, newApplication, type Opened } from './fixtures.ts';

export function applicationContract(open: () => Promise<Opened>): void {
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

  test('an unknown id is not found, whatever its characters', async () => {
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

  test('the list is ordered by creation and includes secrets', async () => {
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

  test('a second application with the same id is refused and leaves nothing behind', async () => {
    const { clientId, secret } = await create();
    await assert.rejects(create({ clientId, name: 'Impostor', secret: newClientSecret() }), DuplicateKey);
    const found = (await find(clientId))!;
    assert.equal(found.name, newApplication().name);
    assert.deepEqual(
      found.secrets.map(({ hash }) => hash),
      [hashClientSecret(secret)],
    );
  });

  test('an application can be disabled and enabled again', async () => {
    const { clientId } = await create();
    assert.equal(await db.store.applications.setDisabled(clientId, true, NOW + 1), true);
    assert.deepEqual(disabledAndUpdated(await find(clientId)), [NOW + 1, NOW + 1]);
    assert.equal(await db.store.applications.setDisabled(clientId, false, NOW + 2), true);
    assert.deepEqual(disabledAndUpdated(await find(clientId)), [null, NOW + 2]);
    assert.equal(await db.store.applications.setDisabled('app_nobody', true, NOW), false);
  });

  test('rotating secrets gives the previous one an expiry and removes older ones', async () => {
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
    // Without an overlap the previous secret expires at once.
    const fourth = newClientSecret();
    await rotateSecret(fourth, NOW + DAY, NOW + DAY);
    assert.deepEqual(await lives(), [
      [hashClientSecret(third), NOW + DAY],
      [hashClientSecret(fourth), null],
    ]);
    assert.equal(await db.store.applications.rotateSecret('app_nobody', second, NOW, NOW), false);
  });

  test('deleting an application deletes its secrets', async () => {
    const { clientId } = await create();
    assert.equal(await db.store.applications.delete(clientId), true);
    assert.equal(await find(clientId), undefined);
    assert.equal(await db.store.applications.delete(clientId), false);
    await create({ clientId });
    assert.equal((await find(clientId))!.secrets.length, 1);
  });

  test('a change by another connection is seen soon', { timeout: 60_000 }, async () => {
    const other = await db.opened.another();
    try {
      const seen = async (
        change: () => Promise<unknown>,
        isSeen: (found: Application | undefined) => boolean,
      ) => {
        await find(clientId);
        await change();
        await withinASecond(async () => isSeen(await find(clientId)));
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

  test('a change during a read is not hidden by the cached result of that read', async () => {
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
