import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SETTLED_MS, SETTLING_MS, schedule } from '../../src/protocol/key-schedule.ts';

const LIFE = 1_000_000;
const MADE = 5_000_000;
const SECOND_KEY = { number: 2, createdAt: MADE };

const states = (keys: Parameters<typeof schedule>[0], now: number, readAt: number) =>
  schedule(keys, now, LIFE, () => readAt).map(({ key, state }) => `${key.number} ${state}`);

describe('the sealing keys', () => {
  test('the first key is there without a record and seals alone', () => {
    assert.deepEqual(states([], 0, 0), ['1 seals']);
  });

  test('a new key first only opens, counted from when this node read it', () => {
    const read = MADE + 500;
    assert.deepEqual(states([SECOND_KEY], read, read), ['1 seals', '2 settling']);
    assert.deepEqual(states([SECOND_KEY], read + SETTLING_MS - 1, read), ['1 seals', '2 settling']);
    assert.deepEqual(states([SECOND_KEY], read + SETTLING_MS, read), ['1 opens', '2 seals']);
  });

  test('a node that starts later seals with it at once', () => {
    const now = MADE + SETTLED_MS;
    assert.deepEqual(states([SECOND_KEY], now, now), ['1 opens', '2 seals']);
  });

  test('a node whose clock is behind waits, and never seals with a key it has just read', () => {
    assert.deepEqual(states([SECOND_KEY], MADE - 30_000, MADE - 30_000), ['1 seals', '2 settling']);
  });

  test('an old key ends when the last thing it can have sealed has', () => {
    const end = MADE + SETTLED_MS + LIFE;
    assert.deepEqual(states([SECOND_KEY], end - 1, 0), ['1 opens', '2 seals']);
    assert.deepEqual(states([SECOND_KEY], end, 0), ['2 seals']);
  });

  test('two keys made in a row settle together', () => {
    const keys = [SECOND_KEY, { number: 3, createdAt: MADE + 1 }];
    assert.deepEqual(states(keys, MADE + 2, MADE + 2), ['1 seals', '2 settling', '3 settling']);
    assert.deepEqual(states(keys, MADE + 2 + SETTLING_MS, MADE + 2), ['1 opens', '2 opens', '3 seals']);
  });
});
