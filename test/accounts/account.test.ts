import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { linkTo, mailsTo, pathTo } from '../support/mails.ts';
import { DAY, HOUR, hiddenFields, PASSWORD, Service, type Visitor } from '../support/service.ts';

const NEXT = 'nine yellow umbrellas';

describe('the account page', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  const csrfToken = async (visitor: Visitor): Promise<string> =>
    hiddenFields((await visitor.get('/account')).text).form_token!;

  async function send(visitor: Visitor, path: string, fields: Record<string, string> = {}) {
    return visitor.post(path, { form_token: await csrfToken(visitor), ...fields });
  }

  test('requires a session, else redirects to sign-in, and a CSRF token on every form, else 403', async () => {
    const client = await service.createClient();
    const disconnect = `/account/connections/${client.clientId}/disconnect`;
    const stranger = await service.visitor();
    for (const path of ['/account', '/account/delete', '/account/connections', disconnect]) {
      const { status, headers } = await stranger.get(path);
      assert.equal(status, 303, path);
      assert.equal(headers.get('location'), `/login?return_to=${encodeURIComponent(path)}`);
    }
    const visitor = await service.signedIn();
    const forms = [
      'profile',
      'email',
      'email/verify',
      'password',
      'sessions/end',
      'sessions/end-others',
      'delete',
    ];
    for (const path of [...forms.map((form) => `/account/${form}`), disconnect]) {
      assert.match(
        (await stranger.post(path, {})).headers.get('location') ?? '',
        /^\/login\?return_to=/,
        path,
      );
      assert.equal((await visitor.post(path, {})).status, 403, path);
      assert.equal((await visitor.post(path, { form_token: 'x' })).status, 403, path);
    }
    assert.ok(await service.app.store.users.find(visitor.user.id));
  });

  test('the CSRF token of one user is refused from another', async () => {
    const [one, two] = [await service.signedIn(), await service.signedIn()];
    const token = await csrfToken(one);
    assert.equal((await two.post('/account/profile', { form_token: token, name: 'X' })).status, 403);
  });

  test('userinfo returns the saved profile', async () => {
    const visitor = await service.signedIn();
    const client = await service.createClient();
    const tokens = await service.tokens(client, visitor);
    service.clock.advance(HOUR / 2);
    const profile = {
      name: 'Ada King',
      preferred_username: 'ada.k',
      picture: 'https://ada.example/me.png',
      locale: 'EN-gb',
    };
    const response = await send(visitor, '/account/profile', profile);
    assert.equal(response.headers.get('location'), '/account?done=profile');
    assert.match((await visitor.get('/account?done=profile')).text, /Your profile is saved/);
    const { body } = await service.userinfo(tokens.access_token);
    assert.deepEqual(
      { ...profile, locale: 'en-GB' },
      {
        name: body.name,
        preferred_username: body.preferred_username,
        picture: body.picture,
        locale: body.locale,
      },
    );
    assert.equal(body.updated_at, Math.floor(service.clock.ms / 1000));
    await send(visitor, '/account/profile', { name: 'Ada King' });
    assert.equal('picture' in (await service.userinfo(tokens.access_token)).body, false);
  });

  test('an invalid profile field shows its error and changes nothing', async () => {
    const visitor = await service.signedIn();
    const wrong: Record<string, string>[] = [
      { name: '' },
      { name: 'x'.repeat(81) },
      { preferred_username: '<b>' },
      { picture: 'http://ada.example/me.png' },
      { picture: 'javascript:alert(1)' },
      { picture: 'https://user:pass@ada.example/' },
      { locale: 'not a language' },
    ];
    for (const fields of wrong) {
      const response = await send(visitor, '/account/profile', { name: 'Ada', ...fields });
      assert.equal(response.status, 400, JSON.stringify(fields));
      assert.match(response.text, /aria-invalid="true"/);
    }
    assert.equal((await service.app.store.users.find(visitor.user.id))?.name, 'Ada Lovelace');
  });

  test('an unknown done parameter shows no notice', async () => {
    const visitor = await service.signedIn();
    for (const done of ['<script>', 'constructor', '__proto__', 'toString'])
      assert.doesNotMatch(
        (await visitor.get(`/account?done=${encodeURIComponent(done)}`)).text,
        /class="notice/,
      );
  });

  test('changing the password requires the current one and ends the other sessions', async () => {
    const user = await service.createUser();
    const [here, there] = [await service.signedIn(user), await service.signedIn(user)];
    const refused = await send(here, '/account/password', { current_password: 'wrong', new_password: NEXT });
    assert.equal(refused.status, 400);
    const weak = await send(here, '/account/password', {
      current_password: PASSWORD,
      new_password: 'iloveyou1',
    });
    assert.match(weak.text, /first that are tried/);
    assert.equal((await there.get('/account')).status, 200);
    const response = await send(here, '/account/password', {
      current_password: PASSWORD,
      new_password: NEXT,
    });
    assert.equal(response.headers.get('location'), '/account?done=password');
    assert.equal((await here.get('/account')).status, 200);
    assert.equal((await there.get('/account')).status, 303);
    assert.match((await mailsTo(service, user.email)).at(-1)!.subject, /password was changed/);
  });

  test('guesses at the current password are throttled per session', async () => {
    const visitor = await service.signedIn();
    const guess = (current_password: string) =>
      send(visitor, '/account/password', { current_password, new_password: NEXT });
    for (let i = 0; i < 10; i++) assert.match((await guess('wrong')).text, /not your password/);
    assert.match((await guess(PASSWORD)).text, /Too many attempts/);
    service.clock.advance(HOUR / 4);
    assert.equal((await guess(PASSWORD)).status, 303);
  });

  test('five wrong passwords in a session appear once in the recent activity', async () => {
    const visitor = await service.signedIn();
    const kinds = async () =>
      (await service.app.store.securityEvents.list(visitor.user.id, 100)).map(({ kind }) => kind);
    const guess = () => send(visitor, '/account/delete', { current_password: 'wrong' });
    for (let i = 0; i < 4; i++) await guess();
    assert.deepEqual(await kinds(), ['signed_in']);
    service.clock.advance(1);
    for (let i = 0; i < 4; i++) await guess();
    assert.deepEqual(await kinds(), ['failed_sign_ins', 'signed_in']);
    assert.match((await visitor.get('/account')).text, /Several failed attempts to sign in/);
  });

  test('sessions are listed by browser and can be ended one by one or all others at once', async () => {
    const user = await service.createUser();
    const here = await service.signedIn(user);
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const hostile = '<script>alert(1)</script>';
    const [one, two] = [await service.visitor(user, firefox), await service.visitor(user, hostile)];
    await one.signIn();
    await two.signIn();
    const page = await here.get('/account');
    assert.match(page.text, /Firefox on Linux/);
    assert.match(page.text, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
    assert.doesNotMatch(page.text, /<script>alert/);
    assert.equal(page.text.match(/This browser/g)?.length, 1);
    const ids = [...page.text.matchAll(/name="session" value="([0-9a-f]{64})"/g)].map(([, id]) => id!);
    assert.equal(ids.length, 2);

    const outsider = await service.signedIn();
    assert.equal((await send(outsider, '/account/sessions/end', { session: ids[0]! })).status, 404);
    assert.equal((await one.get('/account')).status, 200);
    assert.equal((await send(here, '/account/sessions/end', { session: ids[0]! })).status, 303);
    const alive = (await Promise.all([one, two].map((visitor) => visitor.get('/account')))).map(
      ({ status }) => status,
    );
    assert.deepEqual(alive.sort(), [200, 303]);
    await send(here, '/account/sessions/end-others');
    for (const visitor of [one, two]) assert.equal((await visitor.get('/account')).status, 303);
    assert.equal((await here.get('/account')).status, 200);
    assert.equal((await outsider.get('/account')).status, 200);
  });

  describe('e-mail change', () => {
    const change = (visitor: Visitor, email: string, current_password = PASSWORD) => {
      service.clock.advance(HOUR);
      return send(visitor, '/account/email', { email, current_password });
    };

    test('the address changes, also in userinfo, when the new one is verified', async () => {
      const visitor = await service.signedIn();
      const old = visitor.user.email;
      const client = await service.createClient();
      const email = `new-${old}`;
      assert.equal((await change(visitor, email)).headers.get('location'), '/account?done=email_sent');
      const tokens = await service.tokens(client, visitor);
      const claims = async () => (await service.userinfo(tokens.access_token)).body;
      assert.deepEqual([(await claims()).email, (await claims()).email_verified], [old, true]);
      assert.match((await mailsTo(service, old)).at(-1)!.text, /asked to give it another e-mail address/);

      const path = await pathTo(service, email);
      const page = await visitor.get(path);
      assert.deepEqual((await claims()).email, old, 'opening the link changes nothing');
      const response = await visitor.post('/verify-email', hiddenFields(page.text));
      assert.equal(response.headers.get('location'), '/account?done=email');
      assert.deepEqual([(await claims()).email, (await claims()).email_verified], [email, true]);
      assert.equal((await visitor.get(path)).status, 400);
      assert.equal(await service.app.store.users.findByEmail(old), undefined);
    });

    test('a taken address gets the same response, a mail to its owner, and no change', async () => {
      const owner = await service.createUser();
      const visitor = await service.signedIn();
      const taken = await change(visitor, owner.email);
      const free = await change(visitor, `free-${owner.email}`);
      assert.equal(taken.headers.get('location'), free.headers.get('location'));
      assert.match((await mailsTo(service, owner.email)).at(-1)!.text, /has one already/);
    });

    test('an address that another user took meanwhile stays with that user', async () => {
      const visitor = await service.signedIn();
      const email = `race-${visitor.user.email}`;
      await change(visitor, email);
      const page = await visitor.get(await pathTo(service, email));
      const winner = await service.createUser(email);
      const response = await visitor.post('/verify-email', hiddenFields(page.text));
      assert.equal(response.headers.get('location'), '/account?done=stale');
      assert.equal((await service.app.store.users.findByEmail(email))?.id, winner.id);
      assert.equal((await service.app.store.users.find(visitor.user.id))?.email, visitor.user.email);
    });

    test('requires the password and a valid address', async () => {
      const visitor = await service.signedIn();
      assert.equal((await change(visitor, 'other@example.com', 'wrong')).status, 400);
      assert.equal((await change(visitor, 'nobody')).status, 400);
      assert.match((await change(visitor, visitor.user.email.toUpperCase())).text, /your address already/);
      assert.equal((await mailsTo(service, 'other@example.com')).length, 0);
    });

    test('a link that expired, or was sent for an earlier address, has no effect', async () => {
      const visitor = await service.signedIn();
      const [one, two] = [`one-${visitor.user.email}`, `two-${visitor.user.email}`];
      await change(visitor, one);
      const first = await pathTo(service, one);
      const form = hiddenFields((await visitor.get(first)).text);
      await change(visitor, two);
      await visitor.post('/verify-email', hiddenFields((await visitor.get(await pathTo(service, two))).text));
      assert.equal((await visitor.post('/verify-email', form)).status, 400);
      await change(visitor, one);
      service.clock.advance(DAY);
      assert.equal((await visitor.get(await pathTo(service, one))).status, 400);
    });
  });

  test('a mailed link verifies the address', async () => {
    const user = await service.createUser(undefined, 'Ada', false);
    const visitor = await service.signedIn(user);
    const tokens = await service.tokens(await service.createClient(), visitor);
    const verified = async () => (await service.userinfo(tokens.access_token)).body.email_verified;
    assert.equal(await verified(), false);
    assert.match((await visitor.get('/account')).text, /Not confirmed/);
    await send(visitor, '/account/email/verify');
    const link = await linkTo(service, user.email);
    assert.ok(link.startsWith('http://postern.test/verify-email?token='));
    await visitor.post(
      '/verify-email',
      hiddenFields((await visitor.get(await pathTo(service, user.email))).text),
    );
    assert.equal(await verified(), true);
  });

  describe('deletion', () => {
    test('requires the password, revokes every grant and removes the user', async () => {
      const visitor = await service.signedIn();
      const client = await service.createClient();
      const tokens = await service.tokens(client, visitor);
      const { code, verifier } = await service.authorize(client, visitor);
      assert.match((await visitor.get('/account/delete')).text, /One application is disconnected/);
      assert.equal((await send(visitor, '/account/delete', { current_password: 'wrong' })).status, 400);
      assert.equal((await service.userinfo(tokens.access_token)).status, 200);

      const response = await send(visitor, '/account/delete', { current_password: PASSWORD });
      assert.equal(response.headers.get('location'), '/login?done=deleted');
      assert.equal((await visitor.get('/account')).status, 303);
      assert.equal((await service.userinfo(tokens.access_token)).status, 401);
      assert.equal((await service.refresh(client, tokens.refresh_token)).body.error, 'invalid_grant');
      assert.equal((await service.exchange(client, { code, verifier })).body.error, 'invalid_grant');
      assert.equal((await visitor.signIn()).status, 400);
      const { store } = service.app;
      assert.equal(await store.users.findByEmail(visitor.user.email), undefined);
      assert.deepEqual(await store.securityEvents.list(visitor.user.id, 10), []);
      assert.deepEqual(await store.sessions.list(visitor.user.id, service.clock.ms), []);
    });

    test('frees the address', async () => {
      const visitor = await service.signedIn();
      await send(visitor, '/account/delete', { current_password: PASSWORD });
      assert.ok(await service.createUser(visitor.user.email));
      assert.equal((await visitor.signIn()).status, 303);
    });

    test('is refused while the user owns applications', async () => {
      const visitor = await service.signedIn();
      await service.createClient({ ownerId: visitor.user.id, name: '<b>Wall</b>' });
      const page = await visitor.get('/account/delete');
      assert.match(page.text, /&lt;b&gt;Wall&lt;\/b&gt;/);
      assert.equal((await send(visitor, '/account/delete', { current_password: PASSWORD })).status, 409);
      assert.equal((await visitor.get('/account')).status, 200);
    });
  });
});
