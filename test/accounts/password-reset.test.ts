import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { linkTo, mailsTo, pathTo } from '../support/mails.ts';
import { HOUR, hiddenFields, MINUTE, PASSWORD, Service, Visitor } from '../support/service.ts';

const NEXT = 'nine yellow umbrellas';

describe('password reset', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  async function ask(email: string): Promise<Visitor> {
    service.clock.advance(HOUR);
    const visitor = new Visitor(service, { id: '', email, password: NEXT });
    const page = await visitor.get('/forgot-password');
    const response = await visitor.post('/forgot-password', { ...hiddenFields(page.text), email });
    assert.equal(response.status, 200);
    assert.match(response.text, /Check your mail/);
    return visitor;
  }

  async function reset(visitor: Visitor, path: string, password = NEXT) {
    const page = await visitor.get(path);
    return visitor.post('/reset-password', { ...hiddenFields(page.text), password });
  }

  test('the link changes the password and ends every session', async () => {
    const user = await service.createUser();
    const before = await service.signedIn(user);
    const visitor = await ask(user.email);
    const response = await reset(visitor, await pathTo(service, user.email));
    assert.equal(response.headers.get('location'), '/login?done=reset');
    assert.match((await visitor.get('/login?done=reset')).text, /every browser was signed out/);
    assert.match((await before.get('/account')).headers.get('location') ?? '', /^\/login/);
    assert.equal((await before.signIn('/login', PASSWORD)).status, 400);
    assert.equal((await before.signIn('/login', NEXT)).status, 303);
    assert.match((await mailsTo(service, user.email)).at(-1)!.subject, /was changed/);
  });

  test('an unknown address gets the same response and no mail', async () => {
    const user = await service.createUser();
    const texts = [];
    for (const email of [user.email, 'unknown@example.org']) {
      service.clock.advance(HOUR);
      const visitor = new Visitor(service, { id: '', email, password: NEXT });
      const page = await visitor.get('/forgot-password');
      const response = await visitor.post('/forgot-password', { ...hiddenFields(page.text), email });
      texts.push(response.text.replaceAll(email, 'EMAIL'));
    }
    assert.equal(texts[0], texts[1]);
    assert.equal((await mailsTo(service, 'unknown@example.org')).length, 0);
  });

  test('the link works once, for 30 minutes, and opening it does not consume it', async () => {
    const user = await service.createUser();
    const visitor = await ask(user.email);
    const path = await pathTo(service, user.email);
    const page = await visitor.get(path);
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
    const forms = [1, 2, 3].map(() =>
      visitor.post('/reset-password', { ...hiddenFields(page.text), password: NEXT }),
    );
    const statuses = (await Promise.all(forms)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [303, 400, 400]);

    await ask(user.email);
    const late = await pathTo(service, user.email);
    service.clock.advance(30 * MINUTE - 1);
    assert.equal((await visitor.get(late)).status, 200);
    service.clock.advance(1);
    assert.equal((await visitor.get(late)).status, 400);
    assert.equal((await reset(visitor, late)).status, 403, 'there is no form to send');
  });

  test('a refused password does not consume the link', async () => {
    const user = await service.createUser();
    const visitor = await ask(user.email);
    const path = await pathTo(service, user.email);
    for (const password of ['password123', 'short', user.email]) {
      assert.equal((await reset(visitor, path, password)).status, 400, password);
    }
    assert.equal((await reset(visitor, path)).status, 303);
  });

  test('a new password invalidates earlier links', async () => {
    const user = await service.createUser();
    const visitor = await ask(user.email);
    const first = await pathTo(service, user.email);
    service.clock.advance(-HOUR);
    await ask(user.email);
    await reset(visitor, await pathTo(service, user.email));
    assert.equal((await visitor.get(first)).status, 400);
  });

  test('a link works for its own purpose only', async () => {
    const user = await service.createUser();
    const visitor = await ask(user.email);
    const token = new URL(await linkTo(service, user.email)).searchParams.get('token')!;
    assert.equal((await visitor.get(`/verify-email?token=${token}`)).status, 400);
    assert.equal((await visitor.get(`/signup/confirm?token=${token.slice(23)}`)).status, 400);
    const other = await service.createUser();
    assert.equal((await visitor.get(`/reset-password?token=${other.id}${token.slice(22)}`)).status, 400);
  });

  test('the link verifies the address it was sent to', async () => {
    const user = await service.createUser(undefined, 'Ada', false);
    const visitor = await ask(user.email);
    await reset(visitor, await pathTo(service, user.email));
    assert.equal((await service.app.store.users.find(user.id))?.emailVerified, true);
  });

  test('a disabled user gets no mail', async () => {
    const user = await service.createUser();
    await service.app.store.users.setDisabled(user.id, true, service.clock.ms);
    await ask(user.email);
    assert.equal((await mailsTo(service, user.email)).length, 0);
  });

  test('the link uses the base URL, not the Host header', async () => {
    const user = await service.createUser();
    const visitor = new Visitor(service, { ...user });
    const page = await visitor.get('/forgot-password');
    const form = new URLSearchParams({ ...hiddenFields(page.text), email: user.email }).toString();
    assert.equal(await postWithHost(service, visitor, form), 200);
    const link = await linkTo(service, user.email);
    assert.ok(link.startsWith('http://postern.test/reset-password?token='), link);
  });
});

/** fetch sets Host itself; this lets the test forge it. */
function postWithHost(service: Service, visitor: Visitor, body: string): Promise<number> {
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': Buffer.byteLength(body),
    cookie,
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${service.url}/forgot-password`, { method: 'POST', headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', reject).end(body);
  });
}
