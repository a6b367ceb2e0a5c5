import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestIds } from '../../src/http/request-id.ts';

const counterOf = (id: string): number => Number.parseInt(id.slice(9, 13), 36);

test('ids are unique and sort by time, however many a millisecond has', () => {
  let now = Date.UTC(2030, 0, 1);
  const next = requestIds(() => now);
  const ids: string[] = [];
  for (let n = 0; n < 400_000; n++) {
    if (n % 300_000 === 0) now++;
    ids.push(next());
  }
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids, ids.toSorted());
  assert.ok(ids.every((id) => /^[0-9a-z]{23}$/.test(id)));
});

test('ids stay unique when the clock is set back', () => {
  let now = Date.UTC(2030, 0, 1);
  const next = requestIds(() => now);
  const ids: string[] = [];
  for (let round = 0; round < 50; round++) {
    for (let n = 0; n < 1_000; n++, now++) ids.push(next());
    now -= round % 2 === 0 ? 500 : 1_000_000;
  }
  assert.equal(new Set(ids).size, ids.length);
});

test('two ids do not tell how many requests were between them', () => {
  let now = Date.UTC(2030, 0, 1);
  const next = requestIds(() => now++);
  const counters = Array.from({ length: 1_000 }, () => counterOf(next()));
  assert.ok(Math.max(...counters.slice(0, 20)) > 100_000, 'the first ones are not small');
  const rising = counters.filter((counter, n) => n > 0 && counter > counters[n - 1]!).length;
  assert.ok(rising > 300 && rising < 700, `${rising} of 999 are higher than the one before`);
  const still = requestIds(() => 0);
  const steps = new Set(
    Array.from({ length: 100 }, () => counterOf(still())).map((it, n, all) => it - (all[n - 1] ?? it)),
  );
  assert.ok(steps.size > 5, 'within a millisecond too');
});
