import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkBudgets, networkLimit } from '../../src/limits/budget.ts';

const LIMIT = networkLimit({ name: 'test', windowMs: 60_000, max: 10 });
const budgets = (address: string) =>
  networkBudgets(LIMIT, address).map(({ limit, key }) => [limit.name, key, limit.max]);

test('an IPv4 address has one budget', () => {
  assert.deepEqual(budgets('192.0.2.1'), [['test network', '192.0.2.1', 10]]);
});

test('an IPv6 address has one per /48, which is larger and comes first, and one per /64', () => {
  assert.deepEqual(budgets('2001:db8:1:2::3'), [
    ['test site', '2001:db8:1::/48', 50],
    ['test network', '2001:db8:1:2::/64', 10],
  ]);
});
