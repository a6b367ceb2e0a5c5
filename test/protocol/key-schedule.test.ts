import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_PENDING_MS, PENDING_MS, schedule } from '../../src/protocol/key-schedule.ts';

const LIFE = 1_000_000;
const MADE = 5_000_000;
const SECOND_KEY = { number: 2, createdAt: MADE };

const states = (keys: Parameters<typeof schedule>[0], now: number, readAt: number) =>
  schedule(keys, now, LIFE, () => readAt).map(({ key, state }) => `${key.number} ${state}`);

describe('signing keys', () => {
  test('the first key needs no record and signs alone', () => {
    assert.deepEqual(states([], 0, 0), ['1 signing']);
  });

  test('a new key only verifies at first, from the moment this node read it', () => {
    const read = MADE + 500;
    assert.deepEqual(states([SECOND_KEY], read, read), ['1 signing', '2 pending']);
    assert.deepEqual(states([SECOND_KEY], read + PENDING_MS - 1, read), ['1 signing', '2 pending']);
    assert.deepEqual(states([SECOND_KEY], read + PENDING_MS, read), ['1 verifying', '2 signing']);
  });

  test('a node that starts later signs with it at once', () => {
    const now = MADE + MAX_PENDING_MS;
    assert.deepEqual(states([SECOND_KEY], now, now), ['1 verifying', '2 signing']);
  });

  test('a node whose clock is behind waits, and never signs with a key it has just read', () => {
    assert.deepEqual(states([SECOND_KEY], MADE - 30_000, MADE - 30_000), ['1 signing', '2 pending']);
  });

  test('an old key verifies until everything it signed has expired', () => {
    const end = MADE + MAX_PENDING_MS + LIFE;
    assert.deepEqual(states([SECOND_KEY], end - 1, 0), ['1 verifying', '2 signing']);
    assert.deepEqual(states([SECOND_KEY], end, 0), ['2 signing']);
  });

  test('two keys created in a row become active at the same time', () => {
    const keys = [SECOND_KEY, { number: 3, createdAt: MADE + 1 }];
    assert.deepEqual(states(keys, MADE + 2, MADE + 2), ['1 signing', '2 pending', '3 pending']);
    assert.deepEqual(states(keys, MADE + 2 + PENDING_MS, MADE + 2), [
      '1 verifying',
      '2 verifying',
      '3 signing',
    ]);
  });
});
