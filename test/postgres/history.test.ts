import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Event, violations } from './history.ts';

let clock = 0;
/** One request after the other, each taking one unit of time. */
function event(
  kind: Event['kind'],
  credential: string,
  outcome: Event['outcome'],
  issued?: string,
  at?: readonly [number, number],
): Event {
  const [from, to] = at ?? [++clock, ++clock];
  return {
    kind,
    grant: 'a grant',
    credential,
    outcome,
    from,
    to,
    ...(issued && { issued: { accessToken: `access ${issued}`, refreshToken: issued } }),
  };
}

const EXCHANGE = event('exchange', 'code', 'success', 'r1');

describe('the history checker finds nothing wrong with', () => {
  const fine: Record<string, Event[]> = {
    'a grant that is used correctly': [
      EXCHANGE,
      event('userinfo', 'access r1', 'success'),
      event('refresh', 'r1', 'success', 'r2'),
      event('userinfo', 'access r1', 'success'),
      event('refresh', 'r2', 'success', 'r3'),
    ],
    'reuse that revokes the grant': [
      EXCHANGE,
      event('refresh', 'r1', 'success', 'r2'),
      event('refresh', 'r1', 'reused'),
      event('refresh', 'r2', 'refused'),
      event('userinfo', 'access r2', 'refused'),
    ],
    'an unknown outcome that took effect': [
      EXCHANGE,
      event('refresh', 'r1', 'unknown'),
      event('refresh', 'r1', 'reused'),
      event('userinfo', 'access r1', 'refused'),
    ],
    'a request that changed nothing': [
      EXCHANGE,
      event('refresh', 'r1', 'unchanged'),
      event('refresh', 'r1', 'success', 'r2'),
    ],
    'an unknown outcome that took none': [
      EXCHANGE,
      event('refresh', 'r1', 'unknown'),
      event('refresh', 'r1', 'success', 'r2'),
    ],
    'a race that one wins before the other revokes the grant': [
      EXCHANGE,
      event('refresh', 'r1', 'success', 'r2', [100, 120]),
      event('refresh', 'r1', 'reused', undefined, [101, 110]),
      event('refresh', 'r2', 'refused', undefined, [130, 140]),
    ],
    'a revocation': [
      EXCHANGE,
      event('revoke', 'r1', 'success'),
      event('refresh', 'r1', 'refused'),
      event('userinfo', 'access r1', 'refused'),
    ],
    'an access token revoked on its own': [
      EXCHANGE,
      event('revoke', 'access r1', 'success'),
      event('userinfo', 'access r1', 'refused'),
      event('refresh', 'r1', 'success', 'r2'),
    ],
  };
  for (const [name, history] of Object.entries(fine))
    test(name, () => assert.deepEqual(violations(history), []));
});

describe('the history checker catches', () => {
  const wrong: Record<string, { history: Event[]; says: RegExp }> = {
    'a refresh token used twice': {
      history: [
        EXCHANGE,
        event('refresh', 'r1', 'success', 'r2'),
        event('refresh', 'r1', 'success', 'other r2'),
      ],
      says: /2 successes of one refresh/,
    },
    'a code used twice at the same time': {
      history: [
        event('exchange', 'code', 'success', 'r1', [10, 20]),
        event('exchange', 'code', 'success', 'other r1', [11, 19]),
      ],
      says: /2 successes of one exchange/,
    },
    'a refresh after reuse was reported': {
      history: [
        EXCHANGE,
        event('refresh', 'r1', 'success', 'r2'),
        event('refresh', 'r1', 'reused'),
        event('refresh', 'r2', 'success', 'r3'),
      ],
      says: /success after the grant was revoked/,
    },
    'an access token that outlives a revocation': {
      history: [EXCHANGE, event('revoke', 'r1', 'success'), event('userinfo', 'access r1', 'success')],
      says: /success after the grant was revoked/,
    },
    'an acknowledged rotation that was lost': {
      history: [EXCHANGE, event('refresh', 'r1', 'success', 'r2'), event('refresh', 'r2', 'refused')],
      says: /acknowledged token was refused/,
    },
    'an acknowledged token refused as used although it never was': {
      history: [EXCHANGE, event('refresh', 'r1', 'reused')],
      says: /acknowledged token was refused/,
    },
    'a request that had an effect although it was said to have none': {
      history: [EXCHANGE, event('refresh', 'r1', 'unchanged'), event('refresh', 'r1', 'reused')],
      says: /acknowledged token was refused/,
    },
    'an access token that ends for no reason': {
      history: [EXCHANGE, event('userinfo', 'access r1', 'refused')],
      says: /acknowledged token was refused/,
    },
    'a refusal explained only by what came later': {
      history: [EXCHANGE, event('userinfo', 'access r1', 'refused'), event('revoke', 'r1', 'success')],
      says: /acknowledged token was refused/,
    },
  };
  for (const [name, { history, says }] of Object.entries(wrong)) {
    test(name, () => {
      const found = violations(history);
      assert.equal(found.length, 1, found.join('\n'));
      assert.match(found[0]!, says);
    });
  }
});
