import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import { linkTo, mailsTo, pathTo } from '../support/mails.ts';
import {
  authorizePath,
  DAY,
  hiddenFields,
  newVerifier,
  type Reply,
  Service,
  Visitor,
} from '../support/service.ts';

const PASSWORD = 'seven green bicycles';

describe('sign-up', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  /** A new browser and an address without an account. */
  const stranger = (email = `${newId().toLowerCase()}@example.com`) =>
    new Visitor(service, { id: '', email, password: PASSWORD });

  async function signUp(
    visitor: Visitor,
    changes: Record<string, string> = {},
    headers = {},
  ): Promise<Reply> {
    // Keeps these tests below the limit of mails per network.
    service.clock.advance(DAY / 20);
    const page = await visitor.get('/signup');
    const form = { name: 'Ada Lovelace', email: visitor.user.email, password: PASSWORD, ...changes };
    return visitor.post('/signup', { ...hiddenFields(page.text), ...form }, headers);
  }

  test('the mailed link creates the account, verified and signed in', async () => {
    const visitor = stranger();
    const response = await signUp(visitor);
    assert.equal(response.status, 200);
    assert.match(response.text, /Check your mail/);
    assert.equal(await service.app.store.users.findByEmail(visitor.user.email), undefined);
    const path = await pathTo(service, visitor.user.email);

    const page = await visitor.get(path);
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
    assert.doesNotMatch(
      page.text,
      /type="password"/,
      'the browser that signed up need not show the password',
    );
    const confirmed = await visitor.post('/signup/confirm', hiddenFields(page.text));
    assert.equal(confirmed.headers.get('location'), '/account?done=welcome');
    const account = await visitor.get('/account?done=welcome');
    assert.match(account.text, /Ada Lovelace/);
    const user = await service.app.store.users.findByEmail(visitor.user.email);
    assert.equal(user?.emailVerified, true);
  });

  test('opening the link does not consume it, and the button works once', async () => {
    const visitor = stranger();
    await signUp(visitor);
    const path = await pathTo(service, visitor.user.email);
    await visitor.get(path);
    const fields = hiddenFields((await visitor.get(path)).text);
    const responses = await Promise.all([
      visitor.post('/signup/confirm', fields),
      visitor.post('/signup/confirm', fields),
    ]);
    assert.equal(responses.filter(({ status }) => status === 303).length, 1);
    assert.match((await stranger().get(path)).text, /no longer works/);
  });

  test('another browser must give the password', async () => {
    const visitor = stranger();
    await signUp(visitor);
    const path = await pathTo(service, visitor.user.email);
    const other = stranger(visitor.user.email);
    const page = await other.get(path);
    assert.match(page.text, /type="password"/);
    const without = await other.post('/signup/confirm', hiddenFields(page.text));
    assert.equal(without.status, 400);
    const wrong = await other.post('/signup/confirm', {
      ...hiddenFields(page.text),
      password: 'another one of mine',
    });
    assert.equal(wrong.status, 400);
    const right = await other.post('/signup/confirm', { ...hiddenFields(page.text), password: PASSWORD });
    assert.equal(right.status, 303);
  });

  test('the link expires after 24 hours', async () => {
    const visitor = stranger();
    await signUp(visitor);
    const path = await pathTo(service, visitor.user.email);
    service.clock.advance(DAY - 1);
    assert.equal((await visitor.get(path)).status, 200);
    service.clock.advance(1);
    assert.equal((await visitor.get(path)).status, 400);
  });

  test('a taken address gets the same response, and its owner a mail', async () => {
    const owner = await service.createUser();
    const taken = await signUp(stranger(owner.email));
    const free = await signUp(stranger('free@example.org'));
    const plain = (reply: Reply, email: string) => reply.text.replaceAll(email, 'EMAIL');
    assert.equal(taken.status, free.status);
    assert.equal(plain(taken, owner.email), plain(free, 'free@example.org'));
    const [mail, ...more] = await mailsTo(service, owner.email);
    assert.equal(more.length, 0);
    assert.match(mail?.text ?? '', /has one already/);
    assert.doesNotMatch(mail?.text ?? '', /token=/);
  });

  test('two links for one address create one account', async () => {
    const [first, second] = [stranger('twice@example.com'), stranger('twice@example.com')];
    await signUp(first);
    const one = await pathTo(service, 'twice@example.com');
    await signUp(second);
    const two = await pathTo(service, 'twice@example.com');
    await first.post('/signup/confirm', hiddenFields((await first.get(one)).text));
    const late = await second.post('/signup/confirm', hiddenFields((await second.get(two)).text));
    assert.equal(late.headers.get('location'), '/login?done=taken');
  });

  test('invalid fields show their errors', async () => {
    const cases: [Record<string, string>, RegExp][] = [
      [{ name: '' }, /what to call you/],
      [{ email: 'nobody' }, /not an e-mail address/],
      [{ email: 'a@b.example\r\nBcc: c@d.example' }, /not an e-mail address/],
      [{ password: 'short' }, /at least 8 characters/],
      [{ password: 'x'.repeat(129) }, /at most 128 characters/],
      [{ password: 'password123' }, /first that are tried/],
      [{ password: 'PASSWORD123' }, /first that are tried/],
      [{ password: 'adalovelace1' }, /too close to your name/],
    ];
    for (const [changes, words] of cases) {
      const response = await signUp(stranger(), changes);
      assert.equal(response.status, 400, JSON.stringify(changes));
      assert.match(response.text, words);
      assert.match(response.text, /aria-invalid="true"/);
      const [, first] = /<input id="(\w+)"[^>]* autofocus/.exec(response.text) ?? [];
      assert.equal(first, Object.keys(changes)[0], 'the first wrong field has the focus');
      assert.doesNotMatch(response.text, /value="(short|PASSWORD123)"/i, 'a password is never sent back');
    }
  });

  test('hostile names and addresses appear as text, and never in a mail', async () => {
    const name = '<img src=x onerror=alert(1)> Visit http://evil.example';
    const visitor = stranger("o'<b>x@example.com");
    assert.match((await signUp(visitor, { name })).text, /&#39;&lt;b&gt;x@example.com/);
    const fine = stranger('hostile-name@example.com');
    await signUp(fine, { name });
    const [mail] = await mailsTo(service, fine.user.email);
    assert.doesNotMatch(mail?.text ?? '', /evil\.example|onerror/);
    const page = await fine.get(await pathTo(service, fine.user.email));
    await fine.post('/signup/confirm', hiddenFields(page.text));
    const account = await fine.get('/account');
    assert.doesNotMatch(account.text, /<img/);
    assert.match(account.text, /&lt;img src=x onerror=alert\(1\)&gt;/);
  });

  test('links use the base URL, not the Host header', async () => {
    const visitor = stranger();
    const forged = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    await signUp(visitor, {}, forged);
    assert.ok(
      (await linkTo(service, visitor.user.email)).startsWith('http://postern.test/signup/confirm?token='),
    );
  });

  test('returns to the application that the user came from', async () => {
    const client = await service.createClient();
    const path = authorizePath(client, newVerifier(), { state: 'a b' });
    const visitor = stranger();
    const login = (await visitor.get(path)).headers.get('location') ?? '';
    const page = await visitor.get(login);
    const [, href = ''] = /href="(\/signup[^"]*)"/.exec(page.text) ?? [];
    const form = await visitor.get(href.replaceAll('&amp;', '&'));
    const fields = { ...hiddenFields(form.text), name: 'Ada', email: visitor.user.email, password: PASSWORD };
    await visitor.post('/signup', fields);
    const confirm = await visitor.get(await pathTo(service, visitor.user.email));
    const response = await visitor.post('/signup/confirm', hiddenFields(confirm.text));
    assert.equal(response.headers.get('location'), path);
    assert.match((await visitor.get(path)).text, /Test application/);
  });

  test('a form without a CSRF token is refused', async () => {
    const visitor = stranger();
    for (const path of [
      '/signup',
      '/signup/confirm',
      '/forgot-password',
      '/reset-password',
      '/verify-email',
    ]) {
      assert.equal((await visitor.post(path, { email: visitor.user.email })).status, 403, path);
    }
  });

  test('mails are limited per recipient, silently, and per network', async () => {
    const bounded = await Service.start();
    try {
      const ask = async (email: string) => {
        const visitor = new Visitor(bounded, { id: '', email, password: PASSWORD });
        const page = await visitor.get('/forgot-password');
        return visitor.post('/forgot-password', { ...hiddenFields(page.text), email });
      };
      const user = await bounded.createUser('ada@example.com');
      for (let i = 0; i < 7; i++) assert.equal((await ask(user.email)).status, 200);
      assert.equal((await mailsTo(bounded, user.email)).length, 3);
      for (let i = 7; i < 20; i++) assert.equal((await ask(`user${i}@example.com`)).status, 200);
      const late = await ask('late@example.com');
      assert.equal(late.status, 429);
      assert.equal(late.headers.get('retry-after'), '3600');
    } finally {
      await bounded.stop();
    }
  });

  test('only the service can read the outbox, and neither log nor database contains a link', async () => {
    const visitor = stranger();
    await signUp(visitor);
    const [mail] = await mailsTo(service, visitor.user.email);
    assert.equal(mail?.mode, 0o600);
    const token = new URL(await linkTo(service, visitor.user.email)).searchParams.get('token')!;
    await visitor.get(`/signup/confirm?token=${token}`);
    assert.ok(
      service.logged.some((line) => line.includes('.eml')),
      'the log says where',
    );
    assert.ok(!service.logged.some((line) => line.includes(token)));
    for (const file of readdirSync(service.folder).filter((name) => name.startsWith('postern.db')))
      assert.ok(!readFileSync(join(service.folder, file), 'latin1').includes(token), file);
  });
});
