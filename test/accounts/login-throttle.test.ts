import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MINUTE, PASSWORD, Service, type TestUser, type Visitor } from '../support/service.ts';

describe('the login throttle', () => {
  let service: Service;
  before(async () => {
    service = await Service.start({ POSTERN_TRUST_PROXY: 'true' });
  });
  after(() => service.stop());

  /** Each attempt from another address, so that only the account's budget is used up. */
  async function attemptFromManyAddresses(visitor: Visitor, count: number, password = 'wrong guess') {
    let status = 0;
    for (let i = 0; i < count; i++) {
      const page = await visitor.get('/login');
      const fields = Object.fromEntries(
        [...page.text.matchAll(/name="(form_token|return_to)" value="([^"]*)"/g)].map(([, name, value]) => [
          name!,
          value!,
        ]),
      );
      const response = await visitor.post(
        '/login',
        { ...fields, email: visitor.user.email, password },
        { 'x-forwarded-for': `198.51.${Math.floor(Math.random() * 250)}.${i}` },
      );
      status = response.status;
    }
    return status;
  }

  test('limits wrong passwords per account until the window ends', async () => {
    const user = await service.createUser();
    const stranger = await service.visitor(user);
    assert.equal(await attemptFromManyAddresses(stranger, 10), 400);
    assert.equal(await attemptFromManyAddresses(stranger, 1, PASSWORD), 429);
    service.clock.advance(15 * MINUTE);
    assert.equal(await attemptFromManyAddresses(stranger, 1, PASSWORD), 303);
  });

  test('does not lock out a browser with a device cookie', async () => {
    const user = await service.createUser();
    const own = await service.signedIn(user);
    own.cookies.delete('postern_session');
    const stranger = await service.visitor(user);
    await attemptFromManyAddresses(stranger, 11);
    assert.equal(await attemptFromManyAddresses(stranger, 1, PASSWORD), 429);
    assert.equal(await attemptFromManyAddresses(own, 1, PASSWORD), 303);
  });

  test('gives a browser with a device cookie a budget of its own', async () => {
    const user = await service.createUser();
    const own = await service.signedIn(user);
    own.cookies.delete('postern_session');
    assert.equal(await attemptFromManyAddresses(own, 10), 400);
    assert.equal(await attemptFromManyAddresses(own, 1, PASSWORD), 429);
    assert.equal(await attemptFromManyAddresses(await service.visitor(user), 1, PASSWORD), 303);
  });

  test('refuses a device cookie of another account and a forged one', async () => {
    const [user, other] = [await service.createUser(), await service.createUser()];
    const deviceCookie = async (owner: TestUser) =>
      (await service.signedIn(owner)).cookies.get('postern_known')!;
    const [known, own] = [await deviceCookie(other), await deviceCookie(user)];
    const [account] = own.split('.');
    const forged = [account, ...known.split('.').slice(1)].join('.');
    await attemptFromManyAddresses(await service.visitor(user), 10);
    for (const cookie of [known, forged, '~~~', 'x'.repeat(5000)]) {
      const stranger = await service.visitor(user);
      stranger.cookies.set('postern_known', cookie);
      assert.equal(await attemptFromManyAddresses(stranger, 1, PASSWORD), 429);
    }
  });

  test('limits wrong passwords per network over many accounts', async () => {
    let status = 0;
    const visitor = await service.visitor();
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    const page = await visitor.get('/login');
    const form_token = /name="form_token" value="([^"]*)"/.exec(page.text)![1]!;
    for (let i = 0; i <= 100; i++) {
      const form = { form_token, email: `user${i}@example.com`, password: '' };
      status = (await visitor.post('/login', form, headers)).status;
    }
    assert.equal(status, 429);
  });

  test('a burst of wrong passwords appears once in the recent activity', async () => {
    const user = await service.createUser();
    await attemptFromManyAddresses(await service.visitor(user), 9);
    const events = await service.app.store.securityEvents.list(user.id, 10);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['failed_sign_ins'],
    );
    const own = await service.signedIn(user);
    assert.match((await own.get('/account')).text, /Several failed attempts to sign in/);
  });
});
