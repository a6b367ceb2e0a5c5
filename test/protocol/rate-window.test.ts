import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { RateWindows, rateLimitState, tighter } from '../../src/protocol/rate-window.ts';

const MINUTE = 60_000;
const START = Date.UTC(2030, 0, 1);
const LIMIT = { name: 'test', windowMs: MINUTE, max: 3 };

describe('windows', () => {
  test('a window starts with the first request and ends exactly its length later', () => {
    const windows = new RateWindows(LIMIT);
    assert.deepEqual({ ...windows.hit('a', START) }, { startedAt: START, count: 1 });
    assert.deepEqual({ ...windows.hit('a', START + 30_000) }, { startedAt: START, count: 2 });
    assert.deepEqual({ ...windows.hit('a', START + MINUTE - 1) }, { startedAt: START, count: 3 });
    assert.deepEqual({ ...windows.hit('a', START + MINUTE) }, { startedAt: START + MINUTE, count: 1 });
    assert.deepEqual(
      { ...windows.hit('a', START + 10 * MINUTE) },
      { startedAt: START + 10 * MINUTE, count: 1 },
    );
  });

  test('a result does not change with later hits', () => {
    const windows = new RateWindows(LIMIT, 1);
    const counts = (keys: readonly string[]) =>
      keys.map((key) => windows.hit(key, START)).map(({ count }) => count);
    assert.deepEqual(counts(['a', 'a', 'a', 'b', 'b']), [1, 2, 3, 1, 2]);
  });

  test('keys are counted separately', () => {
    const windows = new RateWindows(LIMIT);
    windows.hit('a', START);
    windows.hit('a', START);
    assert.equal(windows.hit('b', START).count, 1);
    for (const name of ['__proto__', 'constructor', '']) assert.equal(windows.hit(name, START).count, 1);
  });

  test('a window can start at a given time', () => {
    const windows = new RateWindows(LIMIT);
    assert.equal(windows.hit('a', START + 50_000, START).startedAt, START);
    assert.equal(windows.hit('a', START + MINUTE - 1, START + 40_000).startedAt, START);
    assert.equal(windows.hit('a', START + MINUTE, START + 40_000).startedAt, START + 40_000);
  });

  test('a refund subtracts one, never below zero', () => {
    const windows = new RateWindows(LIMIT);
    windows.hit('a', START);
    windows.hit('a', START);
    windows.refund('a');
    assert.equal(windows.hit('a', START).count, 2);
    for (let i = 0; i < 5; i++) windows.refund('a');
    assert.equal(windows.hit('a', START).count, 1);
    windows.refund('unknown');
    assert.equal(windows.hit('unknown', START).count, 1);
  });

  test('memory is bounded: the oldest window with hits left is dropped', () => {
    const windows = new RateWindows(LIMIT, 3);
    for (const key of ['a', 'b', 'c']) windows.hit(key, START);
    windows.hit('a', START + 1);
    windows.hit('d', START + 2);
    assert.equal(windows.hit('b', START + 3).count, 2);
    assert.equal(windows.hit('c', START + 3).count, 2);
    assert.equal(windows.hit('a', START + 3).count, 1);
  });

  test('a window that ended is dropped before one with hits left', () => {
    const windows = new RateWindows(LIMIT, 2);
    for (let i = 0; i < 3; i++) windows.hit('a', START);
    windows.hit('b', START + 1);
    windows.hit('c', START + MINUTE);
    assert.equal(windows.hit('b', START + MINUTE).count, 2);
  });

  test('a window that used up its limit is dropped when it has ended, not before', () => {
    const windows = new RateWindows(LIMIT, 2);
    for (let i = 0; i < 3; i++) windows.hit('a', START);
    for (let i = 0; i < 1000; i++) windows.hit(`b${i}`, START + 1);
    assert.equal(windows.hit('a', START + MINUTE - 1).count, 4);
    assert.equal(windows.hit('a', START + MINUTE).count, 1);
  });

  test('a refund makes a window droppable again', () => {
    const windows = new RateWindows(LIMIT, 2);
    for (let i = 0; i < 3; i++) windows.hit('a', START);
    windows.refund('a');
    for (const key of ['b', 'c', 'd']) windows.hit(key, START);
    assert.equal(windows.hit('a', START).count, 1);
  });

  test('when all windows are used up, further keys share one window until the oldest ends', () => {
    const windows = new RateWindows(LIMIT, 2);
    for (let i = 0; i < 4; i++) windows.hit('a', START);
    for (let i = 0; i < 4; i++) windows.hit('b', START + 1);
    assert.deepEqual(
      ['c', 'd', 'e', 'f'].map((key) => windows.hit(key, START + 2).count),
      [1, 2, 3, 4],
    );
    windows.refund('c');
    assert.equal(windows.hit('c', START + 3).count, 5);
    assert.equal(windows.hit('c', START + MINUTE).count, 1);
    assert.equal(windows.hit('b', START + MINUTE).count, 5);
  });

  test('a limit of one hit per window is kept too', () => {
    const windows = new RateWindows({ ...LIMIT, max: 1 }, 2);
    windows.hit('a', START);
    windows.hit('b', START);
    assert.deepEqual([windows.hit('c', START).count, windows.hit('a', START).count], [1, 2]);
    windows.refund('b');
    assert.equal(windows.hit('b', START).count, 1);
    assert.equal(windows.hit('d', START).count, 2);
  });

  test('a restarted window is the newest', () => {
    const windows = new RateWindows(LIMIT, 2);
    windows.hit('a', START);
    windows.hit('b', START + 1);
    windows.hit('a', START + MINUTE);
    windows.hit('c', START + MINUTE);
    assert.equal(windows.hit('a', START + MINUTE + 1).count, 2);
  });

  test('counts agree with a simple model', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat({ max: 40_000 })), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (hits) => {
        const windows = new RateWindows(LIMIT);
        const model = new Map<string, { startedAt: number; count: number }>();
        let now = START;
        for (const [key, later] of hits) {
          now += later;
          const open = model.get(key);
          const expected =
            open && now < open.startedAt + MINUTE
              ? { ...open, count: open.count + 1 }
              : { startedAt: now, count: 1 };
          model.set(key, expected);
          assert.deepEqual({ ...windows.hit(key, now) }, expected);
        }
      }),
    );
  });

  test('a key over its limit stays refused, whatever the others do', () => {
    const step = fc.record({
      key: fc.constantFrom('b', 'c', 'd', 'e'),
      later: fc.nat({ max: 500 }),
      refunded: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const windows = new RateWindows(LIMIT, 2);
        for (let i = 0; i <= LIMIT.max; i++) windows.hit('a', START);
        let now = START;
        for (const { key, later, refunded } of steps) {
          now += later;
          windows.hit(key, now);
          if (refunded) windows.refund(key);
          assert.ok(windows.hit('a', now).count > LIMIT.max);
        }
      }),
    );
  });
});

describe('the state of a limit', () => {
  const at = (count: number, passed: number) =>
    rateLimitState({ startedAt: START, count }, { ...LIMIT, max: 30 }, START + passed);

  test('remaining counts down to zero; the request after the limit exceeds it', () => {
    assert.deepEqual(at(1, 0), { remaining: 29, resetSeconds: 60, exceeded: false });
    assert.deepEqual(at(30, 0), { remaining: 0, resetSeconds: 60, exceeded: false });
    assert.deepEqual(at(31, 0), { remaining: 0, resetSeconds: 60, exceeded: true });
    assert.deepEqual(at(1000, 0), { remaining: 0, resetSeconds: 60, exceeded: true });
  });

  test('reset is whole seconds to the end of the window, rounded up', () => {
    for (const [passed, seconds] of [
      [1, 60],
      [999, 60],
      [1000, 59],
      [58_999, 2],
      [59_000, 1],
      [59_999, 1],
    ] as const) {
      assert.equal(at(1, passed).resetSeconds, seconds, `${passed}`);
    }
  });

  test('the tighter of two states is the exceeded one, or the one with less remaining', () => {
    const plenty = { remaining: 20, resetSeconds: 10, exceeded: false };
    const few = { remaining: 3, resetSeconds: 50, exceeded: false };
    const none = { remaining: 0, resetSeconds: 30, exceeded: false };
    const over = { remaining: 0, resetSeconds: 5, exceeded: true };
    for (const [a, b, expected] of [
      [plenty, few, few],
      [few, none, none],
      [none, over, over],
      [plenty, over, over],
    ] as const) {
      assert.equal(tighter(a, b), expected);
      assert.equal(tighter(b, a), expected);
    }
  });
});
