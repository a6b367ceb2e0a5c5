import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../../src/protocol/credentials.ts';
import { database, HOUR, MINUTE, NOW, type Opened } from './fixtures.ts';

const LIMIT = { name: 'test', windowMs: MINUTE, max: 30 };
const OTHER_LIMIT = { name: 'other', windowMs: HOUR, max: 30 };

export function counterContract(open: () => Promise<Opened>): void {
  const db = database(open);
  const hit = async (key: string, now: number, opensAt = now) => {
    const { startedAt, count } = await db.store.counters.hit(LIMIT, key, now, opensAt);
    return [startedAt, count];
  };

  test('a window starts with its first hit and ends after its length', async () => {
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

  test('different keys and different limits are separate counters', async () => {
    const key = newId();
    await hit(key, NOW);
    assert.deepEqual(await hit(`${key}x`, NOW), [NOW, 1]);
    assert.equal((await db.store.counters.hit(OTHER_LIMIT, key, NOW, NOW)).count, 1);
  });

  test('a refund takes back one hit and never goes below zero', async () => {
    const key = newId();
    await hit(key, NOW);
    await hit(key, NOW);
    await db.store.counters.refund(LIMIT, key);
    assert.deepEqual(await hit(key, NOW), [NOW, 2]);
    for (let n = 0; n < 5; n++) await db.store.counters.refund(LIMIT, key);
    assert.deepEqual(await hit(key, NOW), [NOW, 1]);
    await db.store.counters.refund(LIMIT, newId());
  });

  test('concurrent hits are all counted', async () => {
    const key = newId();
    const counts = await Promise.all(Array.from({ length: 50 }, () => hit(key, NOW)));
    assert.equal(Math.max(...counts.map(([, count]) => count!)), 50);
  });
}
