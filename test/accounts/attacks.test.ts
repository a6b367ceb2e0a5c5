import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { TemporarilyUnavailable } from '../../src/protocol/errors.ts';
import { eventually } from '../support/eventually.ts';
import { mailsTo, pathTo } from '../support/mails.ts';
import { DAY, HOUR, hiddenFields, PASSWORD, type Reply, Service, Visitor } from '../support/service.ts';

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

test('a link to choose a new password has at most ten passwords hashed in 15 minutes', async (t) => {
  service.clock.advance(HOUR);
  const user = await service.createUser();
  const [visitor, fields] = await opened(stranger(''), '/forgot-password');
  await visitor.post('/forgot-password', { ...fields, email: user.email });
  const [, form] = await opened(visitor, await pathTo(service, user.email));
  const hash = t.mock.method(service.app.passwords, 'hash');
  const posts = Array.from({ length: 30 }, (_, i) =>
    visitor.post('/reset-password', { ...form, password: 'nine yellow umbrellas' }, from(`192.0.2.${i}`)),
  );
  assert.equal(statuses(await Promise.all(posts))[0], 303);
  assert.ok(hash.mock.callCount() <= 11);
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

describe('a thief who knows the password', () => {
  const NEXT = 'nine yellow umbrellas';

  /** Sends the form of this path on the account page. */
  async function send(visitor: Visitor, path: string, fields: Record<string, string>): Promise<Reply> {
    const { form_token } = hiddenFields((await visitor.get('/account')).text);
    return visitor.post(path, { form_token: form_token!, ...fields });
  }

  async function requestEmailChange(visitor: Visitor, email: string, current_password = PASSWORD) {
    service.clock.advance(HOUR);
    assert.equal((await send(visitor, '/account/email', { email, current_password })).status, 303);
    return pathTo(service, email);
  }

  async function confirm(
    visitor: Visitor,
    path: string,
    fields: Record<string, string> = {},
  ): Promise<Reply> {
    return visitor.post('/verify-email', { ...hiddenFields((await visitor.get(path)).text), ...fields });
  }

  async function takeOver(thief: Visitor, email: string, password = PASSWORD): Promise<void> {
    const path = await requestEmailChange(thief, email, password);
    assert.equal((await confirm(thief, path)).headers.get('location'), '/account?done=email');
  }

  async function undo(path: string, password = NEXT): Promise<Reply> {
    const [visitor, fields] = await opened(stranger(''), path);
    return visitor.post('/undo-email-change', { ...fields, password });
  }

  const emailOf = async (id: string) => (await service.app.store.users.find(id))?.email;

  test('cannot finish an email change after the owner reset the password', async () => {
    const user = await service.createUser();
    const thief = await service.signedIn(user);
    const path = await requestEmailChange(thief, `thief-${user.email}`);
    const [owner, fields] = await opened(stranger(''), '/forgot-password');
    await owner.post('/forgot-password', { ...fields, email: user.email });
    const [, form] = await opened(owner, await pathTo(service, user.email));
    assert.equal((await owner.post('/reset-password', { ...form, password: NEXT })).status, 303);

    const form_token = hiddenFields((await thief.get('/login')).text).form_token!;
    const token = new URLSearchParams(path.slice(path.indexOf('?'))).get('token')!;
    const forged = { form_token, token, password: PASSWORD };
    assert.equal((await thief.post('/verify-email', forged)).status, 400);
    assert.equal(await emailOf(user.id), user.email);
  });

  test('cannot finish an email change after the owner changed the password', async () => {
    const user = await service.createUser();
    const [thief, owner] = [await service.signedIn(user), await service.signedIn(user)];
    const path = await requestEmailChange(thief, `thief-${user.email}`);
    await send(owner, '/account/password', { current_password: PASSWORD, new_password: NEXT });
    assert.equal((await owner.get(path)).status, 400);
    assert.equal(await emailOf(user.id), user.email);
  });

  test('loses the account again: the old address gets a link that takes it back', async () => {
    const user = await service.createUser();
    const thief = await service.signedIn(user);
    await takeOver(thief, `thief-${user.email}`);
    assert.match((await mailsTo(service, user.email)).at(-1)!.subject, /address was changed/);
    const link = await pathTo(service, user.email);

    await send(thief, '/account/password', {
      current_password: PASSWORD,
      new_password: 'a password of a thief',
    });
    await takeOver(thief, `second-${user.email}`, 'a password of a thief');
    const thiefsLink = await pathTo(service, `thief-${user.email}`);
    assert.equal((await undo(link, 'short')).status, 400, 'a refused password does not spend the link');
    assert.equal((await undo(link)).headers.get('location'), '/login?done=undone');

    assert.equal(await emailOf(user.id), user.email);
    assert.equal((await thief.get('/account')).status, 303);
    assert.equal((await undo(thiefsLink)).status, 403, 'there is no form to send');
    assert.equal((await undo(link)).status, 403);
    for (const password of [PASSWORD, 'a password of a thief'])
      assert.equal((await (await service.visitor(user)).signIn('/login', password)).status, 400);
    const owner = await service.visitor(user);
    assert.equal((await owner.signIn('/login', NEXT)).status, 303);
    assert.match((await owner.get('/account')).text, /Change of the e-mail address undone/);
  });

  test('cannot end that link by undoing a second change', async () => {
    const user = await service.createUser();
    const thief = await service.signedIn(user);
    await takeOver(thief, `thief-${user.email}`);
    const link = await pathTo(service, user.email);
    await takeOver(thief, `second-${user.email}`);
    assert.equal((await undo(await pathTo(service, `thief-${user.email}`))).status, 303);
    assert.equal((await undo(link)).status, 303);
    assert.equal(await emailOf(user.id), user.email);
  });

  test('that link works for three days, and an address that was never verified gets none', async () => {
    const user = await service.createUser();
    await takeOver(await service.signedIn(user), `new-${user.email}`);
    const link = await pathTo(service, user.email);
    service.clock.advance(3 * DAY - 1);
    assert.equal((await stranger('').get(link)).status, 200);
    service.clock.advance(1);
    assert.equal((await stranger('').get(link)).status, 400);

    const unverified = await service.createUser(undefined, 'Ada', false);
    await takeOver(await service.signedIn(unverified), `new-${unverified.email}`);
    assert.doesNotMatch((await mailsTo(service, unverified.email)).at(-1)!.text, /token=/);
  });
});

describe('a link that verifies an address', () => {
  /** An attacker requests the change of their own account to the victim's address. */
  async function luredVictim(): Promise<{ attacker: Visitor; email: string; path: string }> {
    service.clock.advance(HOUR);
    const attacker = await service.signedIn();
    const email = `victim-${attacker.user.email}`;
    const { form_token } = hiddenFields((await attacker.get('/account')).text);
    const form = { form_token: form_token!, email, current_password: PASSWORD };
    await attacker.post('/account/email', form);
    return { attacker, email, path: await pathTo(service, email) };
  }

  test('names the account, in the mail and on the page', async () => {
    const { attacker, email, path } = await luredVictim();
    assert.ok((await mailsTo(service, email)).at(-1)!.text.includes(attacker.user.email));
    assert.ok((await stranger(email).get(path)).text.includes(attacker.user.email));
  });

  test('has no effect for somebody who is not signed in to the account and does not know its password', async () => {
    const { attacker, email, path } = await luredVictim();
    for (const victim of [stranger(email), await service.signedIn()]) {
      const [, fields] = await opened(victim, path);
      for (const password of ['', 'a password of the victim']) {
        const response = await victim.post('/verify-email', { ...fields, password });
        assert.equal(response.status, 400);
        assert.match(response.text, /not the password of this account/);
      }
    }
    assert.equal(await service.app.store.users.findByEmail(email), undefined);
    assert.equal((await service.app.store.users.find(attacker.user.id))?.email, attacker.user.email);
  });

  test('works in another browser with the password of the account, within the limit of guesses', async () => {
    const { attacker, email, path } = await luredVictim();
    const [other, fields] = await opened(stranger(email), path);
    const guess = (password: string) => other.post('/verify-email', { ...fields, password });
    for (let i = 0; i < 10; i++) assert.equal((await guess('wrong')).status, 400);
    assert.equal((await guess(PASSWORD)).status, 429);
    service.clock.advance(HOUR / 4);
    assert.equal((await guess(PASSWORD)).status, 303);
    assert.equal((await service.app.store.users.findByEmail(email))?.id, attacker.user.id);
  });
});

describe('the response to a sign-in', () => {
  const signIn = async (visitor: Visitor, password: string) => {
    const [, fields] = await opened(visitor, '/login');
    return visitor.post('/login', { ...fields, email: visitor.user.email, password }, from('203.0.113.77'));
  };
  const statements = (t: TestContext) => {
    const { users } = service.app.store;
    const spies = [t.mock.method(users, 'findByEmail'), t.mock.method(users, 'find')];
    return () =>
      spies.map(({ mock }) => {
        const count = mock.callCount();
        mock.resetCalls();
        return count;
      });
  };

  test('is the same number of statements for a known and an unknown address', async (t) => {
    const count = statements(t);
    const visitors = [await service.visitor(), stranger('unknown@example.com')];
    for (const visitor of visitors) {
      await signIn(visitor, 'wrong');
      assert.deepEqual(count(), [1, 1]);
    }
  });

  test('is counted first: above the limit nothing is looked up', async (t) => {
    const visitor = await service.visitor();
    for (let i = 0; i < 10; i++) await signIn(visitor, 'wrong');
    const count = statements(t);
    assert.equal((await signIn(visitor, 'wrong')).status, 429);
    assert.deepEqual(count(), [0, 0]);
  });

  test('takes the same work for a password of any length', async (t) => {
    const verify = t.mock.method(service.app.passwords, 'verify');
    const visitor = await service.visitor();
    for (const password of ['x'.repeat(513), 'x'.repeat(50_000)]) {
      assert.equal((await signIn(visitor, password)).status, 400);
      const [checked = '', hash] = verify.mock.calls.at(-1)!.arguments;
      assert.equal(checked.length, 512);
      assert.match(hash!, /^\$argon2id/);
    }
    assert.equal(verify.mock.callCount(), 2);
  });

  test('is sent before the fifth wrong password is recorded', async (t) => {
    const visitor = await service.visitor();
    const { securityEvents } = service.app.store;
    const { promise, resolve } = Promise.withResolvers<void>();
    const record = t.mock.method(securityEvents, 'record', () => promise);
    for (let i = 0; i < 5; i++) assert.equal((await signIn(visitor, 'wrong')).status, 400);
    await eventually(() => record.mock.callCount() === 1);
    resolve();
  });
});

test('a password that is changed while it is checked at sign-in opens no session', async (t) => {
  const visitor = await service.visitor();
  const { passwords, store } = service.app;
  const verify = passwords.verify.bind(passwords);
  t.mock.method(passwords, 'verify', async (...values: Parameters<typeof verify>) => {
    const matches = await verify(...values);
    await store.users.setPassword(
      visitor.user.id,
      await passwords.hash('another password'),
      service.clock.ms,
    );
    return matches;
  });
  assert.equal((await visitor.signIn()).status, 400);
  assert.deepEqual(await store.sessions.list(visitor.user.id, service.clock.ms), []);
});

describe('a device cookie', () => {
  const withoutSession = (visitor: Visitor): Visitor => {
    visitor.cookies.delete('postern_session');
    return visitor;
  };
  async function useUpAccount(email: string): Promise<void> {
    const [visitor, fields] = await opened(stranger(email), '/login');
    for (let i = 0; i < 10; i++)
      await visitor.post('/login', { ...fields, email, password: 'wrong' }, from(`198.51.100.${i}`));
  }

  test('ends with a password change, except in the browser that made it', async () => {
    service.clock.advance(HOUR);
    const user = await service.createUser();
    const [thief, owner] = [await service.signedIn(user), await service.signedIn(user)];
    const { form_token } = hiddenFields((await owner.get('/account')).text);
    const form = { current_password: PASSWORD, new_password: 'nine yellow umbrellas' };
    await owner.post('/account/password', { form_token: form_token!, ...form });
    await useUpAccount(user.email);
    assert.equal((await withoutSession(thief).signIn('/login', 'nine yellow umbrellas')).status, 429);
    assert.equal((await withoutSession(owner).signIn('/login', 'nine yellow umbrellas')).status, 303);
  });

  test('lets its owner ask for a new password when strangers used up the mails', async () => {
    service.clock.advance(HOUR);
    const user = await service.createUser();
    const owner = withoutSession(await service.signedIn(user));
    const ask = async (visitor: Visitor, address: string) => {
      const [, fields] = await opened(visitor, '/forgot-password');
      await visitor.post('/forgot-password', { ...fields, email: user.email }, from(address));
      return (await mailsTo(service, user.email)).length;
    };
    for (let i = 0; i < 5; i++) await ask(stranger(''), '198.51.100.1');
    assert.equal(await ask(stranger(''), '198.51.100.1'), 3, 'one network');
    assert.equal(await ask(stranger(''), '203.0.113.5'), 4, 'another network');
    for (let i = 0; i < 12; i++) await ask(stranger(''), `192.0.2.${i}`);
    assert.equal(await ask(stranger(''), '203.0.113.6'), 10, 'all networks');
    assert.equal(await ask(owner, '203.0.113.7'), 11);
  });

  test('is not needed when strangers asked for mails of another kind', async () => {
    service.clock.advance(HOUR);
    const user = await service.createUser();
    for (let i = 0; i < 12; i++) {
      const [visitor, fields] = await opened(stranger(''), '/signup');
      const form = { ...fields, name: 'X', email: user.email, password: 'nine yellow umbrellas' };
      await visitor.post('/signup', form, from(`192.0.2.${i}`));
    }
    const [visitor, fields] = await opened(stranger(''), '/forgot-password');
    await visitor.post('/forgot-password', { ...fields, email: user.email }, from('203.0.113.8'));
    assert.match((await mailsTo(service, user.email)).at(-1)!.subject, /new password/);
  });
});

test('another spelling of an address does not get an account of its own, or guesses of its own', async () => {
  service.clock.advance(HOUR);
  const user = await service.createUser('zoë@bücher.example');
  const spellings = ['zoë@bücher.example'.normalize('NFD'), 'zoë@xn--bcher-kva.example'];
  for (const email of spellings) {
    const [visitor, fields] = await opened(stranger(email), '/signup');
    await visitor.post('/signup', { ...fields, name: 'X', email, password: 'nine yellow umbrellas' });
  }
  await service.app.mailer.idle();
  assert.deepEqual(await service.rows("SELECT email FROM sign_ups WHERE email LIKE '%cher%'"), []);
  for (let i = 0; i < 10; i++)
    assert.equal((await stranger(spellings[i % 2]!).signIn('/login', 'wrong')).status, 400);
  assert.equal((await (await service.visitor(user)).signIn()).status, 429);
  service.clock.advance(HOUR);
  for (const email of spellings) assert.equal((await stranger(email).signIn()).status, 303);
});
