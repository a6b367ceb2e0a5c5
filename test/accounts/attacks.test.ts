import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TemporarilyUnavailable } from '../../src/protocol/errors.ts';
import { pathTo } from '../support/mails.ts';
import { HOUR, hiddenFields, PASSWORD, type Reply, Service, Visitor } from '../support/service.ts';

/* The very requests of attacks on accounts, each of which once worked. */

let service: Service;
before(async () => {
  service = await Service.start({ POSTERN_TRUST_PROXY: 'true' });
});
after(() => service.stop());

const from = (address: string) => ({ 'x-forwarded-for': address });
const statuses = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status).toSorted();

const stranger = (email: string): Visitor => new Visitor(service, { id: '', email, password: PASSWORD });

/** A browser that has opened the page, and the fields of its form. */
async function opened(visitor: Visitor, path: string): Promise<[Visitor, Record<string, string>]> {
  return [visitor, hiddenFields((await visitor.get(path)).text)];
}

/** The path of a link that confirms a sign-up. */
async function pendingSignUp(email: string): Promise<string> {
  service.clock.advance(HOUR);
  const [visitor, fields] = await opened(stranger(email), '/signup');
  await visitor.post('/signup', { ...fields, name: 'Ada', email, password: PASSWORD });
  return pathTo(service, email);
}

describe('a flood of wrong passwords at the confirmation of a sign-up', () => {
  test('is limited per link and per network', async () => {
    const path = await pendingSignUp('limited@example.com');
    const [other, fields] = await opened(stranger(''), path);
    const guess = (address: string, password = 'wrong') =>
      other.post('/signup/confirm', { ...fields, password }, from(address));
    const guesses = Array.from({ length: 14 }, (_, i) => guess(`198.51.100.${i}`));
    assert.deepEqual(statuses(await Promise.all(guesses)), [...Array(10).fill(400), ...Array(4).fill(429)]);
    const late = await guess('203.0.113.1', PASSWORD);
    assert.equal(late.status, 429);
    assert.equal(late.headers.get('retry-after'), '900');
    service.clock.advance(HOUR / 4);
    assert.equal((await guess('203.0.113.1', PASSWORD)).status, 303);
  });

  test('does not keep others from signing in', async () => {
    const path = await pendingSignUp('flood@example.com');
    const [attacker, fields] = await opened(stranger(''), path);
    const flood = Array.from({ length: 120 }, () =>
      attacker.post('/signup/confirm', { ...fields, password: 'wrong' }, from('198.51.100.200')),
    );
    const users = await Promise.all(Array.from({ length: 5 }, () => service.visitor()));
    const signIns = users.map(async (user, i) => {
      const [visitor, form] = await opened(user, '/login');
      const { email, password } = user.user;
      return visitor.post('/login', { ...form, email, password }, from(`203.0.113.${i}`));
    });
    assert.deepEqual(statuses(await Promise.all(signIns)), [303, 303, 303, 303, 303]);
    await Promise.all(flood);
  });
});

test('a sign-in that a busy server did not check does not count as a wrong one', async (t) => {
  const busy = t.mock.method(service.app.passwords, 'verify', () => {
    throw new TemporarilyUnavailable('busy');
  });
  const visitor = await service.visitor();
  for (let i = 0; i < 12; i++) assert.equal((await visitor.signIn()).status, 503);
  busy.mock.restore();
  assert.equal((await visitor.signIn()).status, 303);
});

test('the 65,536 networks of an IPv6 /48 do not multiply a limit by as many', async () => {
  service.clock.advance(HOUR);
  const fail = async (i: number) => {
    const form = { token: 'x', client_id: 'x', client_secret: 'x' };
    return service.post('/oauth/introspect', form, from(`2001:db8:77:${i.toString(16)}::1`));
  };
  for (let i = 0; i < 150; i++) assert.equal((await fail(i)).status, 401);
  assert.equal((await fail(150)).status, 429);
});
