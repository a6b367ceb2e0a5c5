import assert from 'node:assert/strict';
import { argon2Sync, createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import {
  DAY,
  hiddenFields,
  MINUTE,
  PASSWORD,
  type Reply,
  Service,
  type TestUser,
  Visitor,
} from '../support/service.ts';

let service: Service;
let proxied: Service;
before(async () => {
  [service, proxied] = await Promise.all([Service.start(), Service.start({ POSTERN_TRUST_PROXY: 'true' })]);
});
after(() => Promise.all([service.stop(), proxied.stop()]));

const SESSION = 'postern_session';
/** The device cookie. */
const DEVICE = 'postern_known';
const WINDOW = 15 * MINUTE;

/** A real but cheap hash of the password: these tests sign in many times. */
const CHEAP_HASH = (() => {
  const [nonce, unpadded] = [
    randomBytes(16),
    (bytes: Buffer) => bytes.toString('base64').replaceAll('=', ''),
  ];
  const parameters = { message: PASSWORD, nonce, parallelism: 1, tagLength: 32, memory: 8, passes: 1 };
  return `$argon2id$v=19$m=8,t=1,p=1$${unpadded(nonce)}$${unpadded(argon2Sync('argon2id', parameters))}`;
})();

async function createUser(on = service, email = newEmail()): Promise<TestUser> {
  const id = newId();
  const now = on.clock.ms;
  await on.app.store.users.create({
    id,
    email,
    emailVerified: true,
    name: null,
    passwordHash: CHEAP_HASH,
    now,
  });
  return { id, email, password: PASSWORD };
}

const signedIn = async (user?: TestUser): Promise<Visitor> => service.signedIn(user ?? (await createUser()));

const newEmail = (): string => `${newId().toLowerCase()}@example.com`;
const stranger = (email = newEmail()): Visitor => new Visitor(service, { id: '', email, password: PASSWORD });
const visitorOf = async (user?: TestUser): Promise<Visitor> =>
  new Visitor(service, user ?? (await createUser()));

/** The sign-in page redirects a browser that has a session. */
const isSignedIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get('/login')).status === 303;

function assertSignedIn(response: Reply): void {
  assert.equal(response.status, 303);
  assert.deepEqual(setCookies(response).map(nameOf), [SESSION, DEVICE]);
}

function assertRefused(response: Reply, status: number): void {
  assert.equal(response.status, status);
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
  assert.equal(response.headers.get('location'), null);
  assert.deepEqual(
    setCookies(response).filter((line) => line.includes('session')),
    [],
  );
}

const setCookies = (response: Reply): string[] => response.headers.getSetCookie();
const nameOf = (cookie: string): string => cookie.slice(0, cookie.indexOf('='));

/** The page without its CSRF tokens, which differ each time. */
const withoutTokens = (page: string): string => page.replaceAll(/name="form_token" value="[^"]*"/g, '');

/** Fields of the sign-out form on the page that a signed-in user starts at. */
async function signOutFields(visitor: Visitor): Promise<Record<string, string>> {
  let page = await visitor.get('/');
  if (page.status === 303) page = await visitor.get(page.headers.get('location')!);
  const at = page.text.lastIndexOf('<form', page.text.indexOf('action="/logout"'));
  return hiddenFields(page.text.slice(at));
}

describe('signing in', () => {
  test('redirects to the start page and sets a session', async () => {
    const visitor = await visitorOf();
    const response = await visitor.signIn();
    assertSignedIn(response);
    assert.equal(response.headers.get('location'), '/');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.ok(await isSignedIn(visitor));
    assert.equal((await visitor.get('/')).headers.get('location'), '/account', 'there it goes on');
  });

  test('accepts the address in any case and with surrounding spaces', async () => {
    const { id, email } = await createUser(service, `Ada.${newId()}@Example.com`);
    for (const typed of [email, email.toUpperCase(), email.toLowerCase(), ` ${email} `]) {
      assertSignedIn(await (await visitorOf({ id, email: typed, password: PASSWORD })).signIn());
    }
  });

  test('compares the password exactly', async () => {
    const visitor = await visitorOf();
    for (const wrong of [
      '',
      ' ',
      PASSWORD.toUpperCase(),
      ` ${PASSWORD}`,
      `${PASSWORD}\0`,
      PASSWORD.slice(0, -1),
    ]) {
      assertRefused(await visitor.signIn('/login', wrong), 400);
    }
    assert.ok(!(await isSignedIn(visitor)));
  });

  test('refuses a body without fields, with oversized fields, or of another content type', async () => {
    const visitor = await visitorOf();
    const { form_token } = hiddenFields((await visitor.get('/login')).text);
    assertRefused(await visitor.post('/login', { form_token: form_token! }), 400);
    const { email } = visitor.user;
    assertRefused(
      await visitor.post('/login', { form_token: form_token!, email, password: 'x'.repeat(60_000) }),
      400,
    );
    assertRefused(
      await visitor.post('/login', { form_token: form_token!, email: 'x'.repeat(60_000), password: 'x' }),
      400,
    );
    assertRefused(
      await visitor.post('/login', { form_token: form_token!, email: '\0', password: '\0' }),
      400,
    );
    for (const body of ['{"a":1}', 'a=1&a=2', 'a=%FF']) {
      const response = await service.send('/login', { method: 'POST', body });
      assertRefused(response, 403);
    }
  });

  test('gives the same response for a wrong password and an unknown address', async () => {
    const known = await visitorOf();
    const unknown = stranger();
    const wrong = await known.signIn('/login', 'wrong password');
    const nobody = await unknown.signIn('/login', 'wrong password');
    assertRefused(wrong, 400);
    assertRefused(nobody, 400);
    const same = (response: Reply, email: string) =>
      withoutTokens(response.text).replaceAll(email, 'ADDRESS');
    assert.equal(same(nobody, unknown.user.email), same(wrong, known.user.email));
    assert.deepEqual([...nobody.headers.keys()], [...wrong.headers.keys()]);
  });

  test('hashes the password in both cases, so that both take the same time', async (t) => {
    const spy = t.mock.method(service.app.passwords, 'verify');
    const known = await visitorOf();
    await known.signIn('/login', 'wrong password');
    const user = await service.app.store.users.find(known.user.id);
    assert.deepEqual(spy.mock.calls.at(-1)!.arguments, ['wrong password', user!.passwordHash, '127.0.0.1']);
    await stranger().signIn('/login', 'another password');
    assert.deepEqual(spy.mock.calls.at(-1)!.arguments, ['another password', undefined, '127.0.0.1']);
    assert.equal(spy.mock.callCount(), 2);
    assert.equal(await spy.mock.calls.at(-1)!.result, false);
  });

  test('shows a hostile address as text', async () => {
    const hostile = '"><script>alert(1)</script>\'&@example.com';
    const response = await stranger(hostile).signIn('/login', 'wrong password');
    assertRefused(response, 400);
    assert.doesNotMatch(response.text, /<script>/);
    assert.ok(
      response.text.includes('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp;@example.com'),
    );
  });

  test('shows the hostile address of a user as text', async () => {
    const visitor = await visitorOf(
      await createUser(service, `"<script>alert(1)</script>"@${newId()}.example`),
    );
    assertSignedIn(await visitor.signIn());
    let page = await visitor.get('/');
    if (page.status === 303) page = await visitor.get(page.headers.get('location')!);
    assert.equal(page.status, 200);
    assert.doesNotMatch(page.text, /<script>/);
  });

  test('never puts the password into a page', async () => {
    const response = await (await visitorOf()).signIn('/login', 'wrong MARK4711');
    assert.doesNotMatch(response.text, /MARK4711/);
    assert.doesNotMatch(service.logged.join(''), /MARK4711/);
  });
});

describe('a disabled user', () => {
  test('learns so only with the right password, and is not signed in', async () => {
    const visitor = await visitorOf();
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    const wrong = await visitor.signIn('/login', 'wrong password');
    assertRefused(wrong, 400);
    assert.doesNotMatch(wrong.text, /disabled/);
    const right = await visitor.signIn();
    assertRefused(right, 403);
    assert.match(right.text, /disabled/);
    assert.ok(!(await isSignedIn(visitor)));
  });

  test('loses an open session', async () => {
    const visitor = await signedIn();
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    assert.ok(!(await isSignedIn(visitor)));
  });
});

describe('the session', () => {
  test('has a new id at each sign-in, and the previous session ends', async () => {
    const visitor = await signedIn();
    const first = visitor.cookies.get(SESSION)!;
    const csrfToken = (await signOutFields(visitor)).form_token!;
    const fields = { form_token: csrfToken, email: visitor.user.email, password: PASSWORD };
    assertSignedIn(await visitor.post('/login', fields));
    const second = visitor.cookies.get(SESSION)!;
    assert.notEqual(second, first);
    assert.ok(await isSignedIn(visitor));
    const old = await visitorOf(visitor.user);
    old.cookies.set(SESSION, first);
    assert.ok(!(await isSignedIn(old)));
  });

  test('id that was planted before sign-in is not used (session fixation)', async () => {
    const planted = randomBytes(32).toString('base64url');
    const victim = await visitorOf();
    victim.cookies.set(SESSION, planted);
    assertSignedIn(await victim.signIn());
    assert.notEqual(victim.cookies.get(SESSION), planted);
    const attacker = await visitorOf(victim.user);
    attacker.cookies.set(SESSION, planted);
    assert.ok(!(await isSignedIn(attacker)));
  });

  test("of an attacker, planted in the victim's browser, does not become the victim's", async () => {
    const attacker = await signedIn();
    const planted = attacker.cookies.get(SESSION)!;
    const victim = await visitorOf();
    victim.cookies.set(SESSION, planted);
    const { form_token } = await signOutFields(attacker);
    const fields = { form_token: form_token!, email: victim.user.email, password: PASSWORD };
    assertSignedIn(await victim.post('/login', fields));
    assert.notEqual(victim.cookies.get(SESSION), planted);
    assert.ok(!(await isSignedIn(attacker)));
  });

  test('id is 256 random bits, and only its hash is in the database', async () => {
    const visitor = await signedIn();
    const id = visitor.cookies.get(SESSION)!;
    assert.match(id, /^[A-Za-z0-9_-]{43}$/);
    const stored = await service.storedBytes();
    assert.ok(!stored.includes(id));
    assert.ok(stored.includes(createHash('sha256').update(id).digest('hex')));
    assert.ok(!stored.includes(PASSWORD));
  });

  test('hash from the database is not accepted as a session id', async () => {
    const visitor = await signedIn();
    const hash = createHash('sha256').update(visitor.cookies.get(SESSION)!).digest();
    for (const id of [hash.toString('hex'), hash.toString('base64url'), hash.toString('hex').slice(0, 43)]) {
      const thief = await visitorOf(visitor.user);
      thief.cookies.set(SESSION, id);
      assert.ok(!(await isSignedIn(thief)));
    }
  });

  test('expires after exactly fourteen days', async () => {
    const visitor = await signedIn();
    service.clock.advance(14 * DAY - 1);
    assert.ok(await isSignedIn(visitor));
    service.clock.advance(1);
    assert.ok(!(await isSignedIn(visitor)));
  });

  test('malformed cookies cause no error', async () => {
    for (const cookie of [
      `${SESSION}=`,
      `${SESSION}=%FF`,
      `${SESSION}=${'x'.repeat(4000)}`,
      '=;=;',
      '__proto__=x',
      `${SESSION}="x"`,
    ]) {
      assert.equal((await service.get('/login', { cookie })).status, 200, cookie);
    }
  });
});

describe('the cookies', () => {
  const flagsOf = (line: string): string[] => line.split('; ').slice(1).toSorted();

  test('over http are HttpOnly and SameSite=Lax, for the whole service', async () => {
    const visitor = await visitorOf();
    const [browser = ''] = setCookies(await visitor.get('/login'));
    assert.match(browser, /^postern_browser=[A-Za-z0-9_-]{43};/);
    assert.deepEqual(flagsOf(browser), ['HttpOnly', 'Path=/', 'SameSite=Lax']);
    const [session = '', known = '', ...more] = setCookies(await visitor.signIn());
    assert.match(session, /^postern_session=[A-Za-z0-9_-]{43};/);
    assert.deepEqual(flagsOf(session), ['HttpOnly', 'Max-Age=1209600', 'Path=/', 'SameSite=Lax']);
    assert.match(known, /^postern_known=[A-Za-z0-9_.-]+;/);
    assert.deepEqual(flagsOf(known), ['HttpOnly', 'Max-Age=31536000', 'Path=/', 'SameSite=Lax']);
    assert.deepEqual(more, []);
  });

  test('over https are also Secure, with the __Host- prefix', async () => {
    const secure = await Service.start({ POSTERN_BASE_URL: 'https://id.example' });
    try {
      const visitor = new Visitor(secure, await createUser(secure));
      const [browser = ''] = setCookies(await visitor.get('/login'));
      assert.match(browser, /^__Host-postern_browser=[A-Za-z0-9_-]{43};/);
      assert.deepEqual(flagsOf(browser), ['HttpOnly', 'Path=/', 'SameSite=Lax', 'Secure']);
      const [session = '', known = '', ...more] = setCookies(await visitor.signIn());
      assert.match(session, /^__Host-postern_session=[A-Za-z0-9_-]{43};/);
      assert.deepEqual(flagsOf(session), ['HttpOnly', 'Max-Age=1209600', 'Path=/', 'SameSite=Lax', 'Secure']);
      assert.match(known, /^__Host-postern_known=[A-Za-z0-9_.-]+;/);
      assert.deepEqual(flagsOf(known), ['HttpOnly', 'Max-Age=31536000', 'Path=/', 'SameSite=Lax', 'Secure']);
      assert.deepEqual(more, []);

      const id = visitor.cookies.get('__Host-postern_session')!;
      const unbound = await secure.get('/login', { cookie: `postern_session=${id}` });
      assert.equal(unbound.status, 200, 'a name without the prefix is not looked at');
      assert.equal((await secure.get('/login', { cookie: `__Host-postern_session=${id}` })).status, 303);
    } finally {
      await secure.stop();
    }
  });
});

describe('a form posted from another site', () => {
  test('signs nobody in', async () => {
    const visitor = await visitorOf();
    const { email } = visitor.user;
    const other = stranger();
    const { form_token: ofOther } = hiddenFields((await other.get('/login')).text);
    const { form_token: own } = hiddenFields((await visitor.get('/login')).text);
    const fields = { email, password: PASSWORD };
    for (const [form_token, headers] of [
      ['', {}],
      ['x', {}],
      [ofOther!, {}],
      [`${own!.slice(0, -1)}${own!.endsWith('A') ? 'B' : 'A'}`, {}],
      [own!, { 'sec-fetch-site': 'cross-site' }],
    ] as const) {
      assertRefused(await visitor.post('/login', { ...fields, form_token }, headers), 403);
    }
    assertRefused(await visitor.post('/login', fields), 403);
    assertRefused(await service.post('/login', { ...fields, form_token: own! }), 403);
    assert.ok(!(await isSignedIn(visitor)));
    assertSignedIn(await visitor.post('/login', { ...fields, form_token: own! }));
  });

  test('is refused before the password is checked', async (t) => {
    const spy = t.mock.method(service.app.passwords, 'verify');
    const visitor = await visitorOf();
    await visitor.get('/login');
    const fields = { email: visitor.user.email, password: PASSWORD, form_token: 'x' };
    assertRefused(await visitor.post('/login', fields), 403);
    assert.equal(spy.mock.callCount(), 0);
  });

  test('gets a sign-in page that works', async () => {
    const visitor = await visitorOf();
    const refused = await visitor.post('/login', {
      email: visitor.user.email,
      password: PASSWORD,
      return_to: '/x',
    });
    assertRefused(refused, 403);
    const fields = { ...hiddenFields(refused.text), email: visitor.user.email, password: PASSWORD };
    const response = await visitor.post('/login', fields);
    assertSignedIn(response);
    assert.equal(response.headers.get('location'), '/x');
  });

  test('signs nobody out', async () => {
    const visitor = await signedIn();
    const other = await signedIn();
    const { form_token: ofOther } = await signOutFields(other);
    const { form_token: own } = await signOutFields(visitor);
    for (const [form_token, headers] of [
      ['', {}],
      ['x', {}],
      [ofOther!, {}],
      [own!, { 'sec-fetch-site': 'cross-site' }],
    ] as const) {
      assertRefused(await visitor.post('/logout', { form_token }, headers), 403);
    }
    assertRefused(await visitor.post('/logout', {}), 403);
    assert.ok(await isSignedIn(visitor));
  });

  test('with the CSRF token from before sign-in is refused after it', async () => {
    const visitor = await visitorOf();
    const { form_token } = hiddenFields((await visitor.get('/login')).text);
    await visitor.signIn();
    assertRefused(await visitor.post('/logout', { form_token: form_token! }), 403);
    assert.ok(await isSignedIn(visitor));
  });

  test('cannot use GET either', async () => {
    const visitor = await signedIn();
    const { form_token } = await signOutFields(visitor);
    for (const query of ['', '?return_to=%2F', `?form_token=${form_token}`]) {
      const response = await visitor.get(`/logout${query}`);
      assert.equal(response.status, 200, 'a page that asks');
      assert.match(response.text, /<form[^>]* method="post" action="\/logout">/);
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.deepEqual(setCookies(response), []);
      assert.ok(await isSignedIn(visitor));
    }
  });
});

describe('signing out', () => {
  test('ends the session in the database, not only the cookie', async () => {
    const visitor = await signedIn();
    const id = visitor.cookies.get(SESSION)!;
    const response = await visitor.post('/logout', await signOutFields(visitor));
    assert.equal(response.status, 303);
    assert.match(setCookies(response)[0] ?? '', /^postern_session=; .*Max-Age=0/);
    assert.ok(!visitor.cookies.has(SESSION));
    const thief = await visitorOf(visitor.user);
    thief.cookies.set(SESSION, id);
    assert.ok(!(await isSignedIn(thief)));
  });

  test('works from the confirmation page', async () => {
    const visitor = await signedIn();
    const page = await visitor.get('/logout');
    assert.ok(page.text.includes(visitor.user.email));
    const response = await visitor.post('/logout', hiddenFields(page.text));
    assert.equal(response.status, 303);
    assert.equal(response.headers.get('location'), '/');
    assert.ok(!(await isSignedIn(visitor)));
    assert.equal((await visitor.get('/logout')).headers.get('location'), '/', 'nobody is there to be asked');
  });

  test('keeps the device cookie, which grants no access', async () => {
    const visitor = await signedIn();
    await visitor.post('/logout', await signOutFields(visitor));
    assert.ok(visitor.cookies.has(DEVICE));
    assert.ok(!(await isSignedIn(visitor)));
  });

  test('ends no other session', async () => {
    const here = await signedIn();
    const there = await signedIn(here.user);
    await here.post('/logout', await signOutFields(here));
    assert.ok(await isSignedIn(there));
  });
});

describe('guessing passwords', () => {
  const attempt = (visitor: Visitor, password = 'wrong password'): Promise<Reply> =>
    visitor.signIn('/login', password);

  function assertThrottled(response: Reply, seconds: number): void {
    assertRefused(response, 429);
    assert.equal(response.headers.get('retry-after'), String(seconds));
  }

  async function guess(visitor: Visitor, times: number): Promise<void> {
    for (let i = 0; i < times; i++) assertRefused(await attempt(visitor), 400);
  }

  test('stops after ten wrong ones per account, for the right one too, until fifteen minutes after the first', async (t) => {
    const visitor = await visitorOf();
    await guess(visitor, 1);
    service.clock.advance(MINUTE);
    await guess(visitor, 9);
    const spy = t.mock.method(service.app.passwords, 'verify');
    assertThrottled(await attempt(visitor), 14 * 60);
    assertThrottled(await attempt(visitor, PASSWORD), 14 * 60);
    service.clock.advance(WINDOW - MINUTE - 1);
    assertThrottled(await attempt(visitor, PASSWORD), 1);
    assert.equal(spy.mock.callCount(), 0, 'nothing is hashed for it');
    service.clock.advance(1);
    assertSignedIn(await attempt(visitor, PASSWORD));
  });

  test('counts per account, over all browsers and spellings of the address', async () => {
    const { id, email } = await createUser();
    for (let i = 0; i < 10; i++) {
      const typed = i % 2 === 0 ? email.toUpperCase() : ` ${email}`;
      await guess(await visitorOf({ id, email: typed, password: PASSWORD }), 1);
    }
    assertThrottled(await attempt(await visitorOf({ id, email, password: PASSWORD }), PASSWORD), 15 * 60);
  });

  test('at one account does not affect another', async () => {
    const visitor = await visitorOf();
    await guess(visitor, 10);
    assertThrottled(await attempt(visitor), 15 * 60);
    assertSignedIn(await (await visitorOf()).signIn());
  });

  test('at an unknown address gets the same responses', async () => {
    const nobody = stranger();
    await guess(nobody, 10);
    const throttled = await attempt(nobody);
    assertThrottled(throttled, 15 * 60);
    const somebody = await visitorOf();
    await guess(somebody, 10);
    const same = (response: Reply, { user }: Visitor) =>
      withoutTokens(response.text).replaceAll(user.email, 'ADDRESS');
    assert.equal(same(await attempt(somebody), somebody), same(throttled, nobody));
  });

  test('does not count successful sign-ins', async () => {
    const visitor = await visitorOf();
    for (let i = 0; i < 12; i++) assertSignedIn(await (await visitorOf(visitor.user)).signIn());
    await guess(visitor, 9);
    assertSignedIn(await (await visitorOf(visitor.user)).signIn());
    await guess(visitor, 1);
    assertThrottled(await attempt(visitor), 15 * 60);
  });

  test('counts parallel attempts too', async () => {
    const visitor = await visitorOf();
    const page = await visitor.get('/login');
    const fields = { ...hiddenFields(page.text), email: visitor.user.email, password: 'wrong password' };
    const responses = await Promise.all(Array.from({ length: 15 }, () => visitor.post('/login', fields)));
    const statuses = responses.map(({ status }) => status).toSorted();
    assert.deepEqual(statuses, [...Array(10).fill(400), ...Array(5).fill(429)]);
  });

  test('stops after a hundred wrong ones per network, over all accounts, until the window ends', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const browser = new Visitor(proxied, await createUser(proxied));
    const fields = hiddenFields((await browser.get('/login')).text);
    const guessAt = (email: string, address: string, password = 'wrong password') =>
      browser.post('/login', { ...fields, email, password }, from(address));

    for (let account = 0; account < 10; account++) {
      const { email } = await createUser(proxied);
      const tries = Array.from({ length: 10 }, (_, i) => guessAt(email, `2001:db8:1:2::${i}`));
      for (const response of await Promise.all(tries)) assertRefused(response, 400);
    }
    const { email } = browser.user;
    assertThrottled(await guessAt(newEmail(), '2001:db8:1:2:ffff::1'), 15 * 60);
    assertThrottled(await guessAt(email, '2001:db8:1:2:ffff::1', PASSWORD), 15 * 60);
    assertRefused(await guessAt(email, '2001:db8:1:3::1'), 400);
    proxied.clock.advance(WINDOW - 1);
    assertThrottled(await guessAt(email, '2001:db8:1:2::1', PASSWORD), 1);
    proxied.clock.advance(1);
    assertSignedIn(await guessAt(email, '2001:db8:1:2::1', PASSWORD));
  });

  test('from a network over its limit does not use up the budget of an account', async () => {
    const browser = new Visitor(proxied, await createUser(proxied));
    const fields = hiddenFields((await browser.get('/login')).text);
    const send = (email: string, address: string, password: string) =>
      browser.post('/login', { ...fields, email, password }, { 'x-forwarded-for': address });
    for (let account = 0; account < 10; account++) {
      const { email } = await createUser(proxied);
      await Promise.all(Array.from({ length: 10 }, () => send(email, '203.0.113.9', 'wrong password')));
    }
    for (let i = 0; i < 20; i++)
      assertRefused(await send(browser.user.email, '203.0.113.9', 'wrong password'), 429);
    assertSignedIn(await send(browser.user.email, '192.0.2.4', PASSWORD));
  });
});
