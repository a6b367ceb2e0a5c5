import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientLimits } from '../../src/limits/client-limits.ts';
import type { Application } from '../../src/store/applications.ts';
import { MemoryCounters } from '../../src/store/counters.ts';

const MINUTE = 60_000;
const APPLICATION = { clientId: 'app_1' } as Application;

test('a stranger who sends a client_id from another address does not spend the application’s budget', () => {
  const limits = new ClientLimits(new MemoryCounters(), 2);
  for (let i = 0; i < 5; i++) limits.countRequest('app_1', APPLICATION, '198.51.100.1', 0);
  const own = limits.countRequest('app_1', APPLICATION, '203.0.113.1', 0);
  limits.countAuthenticated(own, APPLICATION);
  assert.equal(own.exceeded, false);
  assert.equal(own.used, 1);
});

test('authenticated requests from all addresses share one budget', () => {
  const limits = new ClientLimits(new MemoryCounters(), 2);
  const counted = ['198.51.100.1', '203.0.113.1', '192.0.2.1'].map((address) => {
    const limit = limits.countRequest('app_1', APPLICATION, address, 0);
    limits.countAuthenticated(limit, APPLICATION);
    return limit;
  });
  assert.deepEqual(
    counted.map(({ exceeded }) => exceeded),
    [false, false, true],
  );
});

test('used never exceeds the limit, and the window ends after a minute', () => {
  const limits = new ClientLimits(new MemoryCounters(), 2);
  const count = (now: number) => limits.countRequest('app_1', APPLICATION, '198.51.100.1', now).used;
  assert.deepEqual([count(0), count(1), count(2), count(MINUTE)], [1, 2, 2, 1]);
});

test('a counter over its limit outlives a flood of invented ids', () => {
  const limits = new ClientLimits(new MemoryCounters(), 2);
  const count = (clientId: string) => limits.countRequest(clientId, undefined, '198.51.100.1', 0).exceeded;
  assert.deepEqual([count('app_1'), count('app_1'), count('app_1')], [false, false, true]);
  for (let i = 0; i < 100_001; i++) count(`invented ${i}`);
  assert.equal(count('app_1'), true);
});

test('the limit that is enforced is the application’s, on both counters, whether it is known before or only after authentication', () => {
  class PerApplication extends ClientLimits {
    override limitOf(application: Application | undefined): number {
      return application?.clientId === 'app_large' ? 5 : 2;
    }
  }
  const limits = new PerApplication(new MemoryCounters(), 2);
  const large = { clientId: 'app_large' } as Application;
  for (const known of [large, undefined]) {
    const limit = limits.countRequest('app_large', known, '198.51.100.1', 0);
    limits.countAuthenticated(limit, large);
    assert.equal(limit.headers()['ratelimit-limit'], '5');
    assert.equal(limit.exceeded, false);
  }
  for (let i = 3; i <= 5; i++) {
    const limit = limits.countRequest('app_large', large, '198.51.100.1', 0);
    assert.equal(limit.exceeded, false, `request ${i}`);
    limits.countAuthenticated(limit, large);
  }
  assert.equal(limits.countRequest('app_large', large, '198.51.100.1', 0).exceeded, true);
});
