import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Sweeper } from '../../src/sweeper.ts';
import { authorizePath, DAY, hiddenFields, newVerifier, Service } from '../support/service.ts';

describe('security events', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  const kinds = async (userId: string) =>
    (await service.app.store.securityEvents.list(userId, 100)).map(({ kind }) => kind);

  test('a sign-in and a grant are recorded, a double click once', async () => {
    const visitor = await service.signedIn();
    const client = await service.createClient({ name: 'Photo <Wall>' });
    const page = await visitor.get(authorizePath(client, newVerifier()));
    const form = { ...hiddenFields(page.text), decision: 'allow' };
    service.clock.advance(1);
    await visitor.post('/oauth/authorize', form);
    service.clock.advance(1);
    await visitor.post('/oauth/authorize', form);
    assert.deepEqual(await kinds(visitor.user.id), ['granted', 'signed_in']);
    assert.match((await visitor.get('/account')).text, /You allowed Photo &lt;Wall&gt; to use your account/);
  });

  test('changes by the user are recorded with browser and address', async () => {
    const visitor = await service.visitor(
      undefined,
      'Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0',
    );
    await visitor.signIn();
    const { form_token } = hiddenFields((await visitor.get('/account')).text);
    service.clock.advance(1);
    const passwords = { current_password: visitor.user.password, new_password: 'nine yellow umbrellas' };
    await visitor.post('/account/password', { form_token: form_token!, ...passwords });
    assert.deepEqual(await kinds(visitor.user.id), ['password_changed', 'signed_in']);
    const { text } = await visitor.get('/account');
    assert.match(text, /Password changed/);
    assert.match(text, /Firefox on Windows, 127\.0\.0\.1/);
  });

  test('a grant revoked by reuse is recorded once, under the application it belonged to', async () => {
    const visitor = await service.signedIn();
    const [client, thief] = [
      await service.createClient({ name: 'Photo Wall' }),
      await service.createClient(),
    ];
    const { refresh_token } = await service.tokens(client, visitor);
    await service.refresh(client, refresh_token);
    service.clock.advance(1);
    await Promise.all([1, 2, 3].map(() => service.refresh(thief, refresh_token)));
    const events = await service.app.store.securityEvents.list(visitor.user.id, 100);
    const reuses = events.filter(({ kind }) => kind === 'refresh_token_reuse');
    assert.deepEqual(
      reuses.map(({ clientId }) => clientId),
      [client.clientId],
    );
    assert.match(
      (await visitor.get('/account')).text,
      /Photo Wall was cut off: an old token of it was used again/,
    );
  });

  test('a replayed code is recorded too', async () => {
    const visitor = await service.signedIn();
    const client = await service.createClient();
    const issued = await service.authorize(client, visitor);
    await service.exchange(client, issued);
    service.clock.advance(1);
    await service.exchange(client, issued);
    await service.exchange(client, issued);
    assert.equal((await kinds(visitor.user.id)).filter((kind) => kind === 'code_replay').length, 1);
  });

  test('a successful refresh, and a refusal that revokes nothing, record no event', async () => {
    const visitor = await service.signedIn();
    const [client, other] = [await service.createClient(), await service.createClient()];
    const { refresh_token } = await service.tokens(client, visitor);
    await service.refresh(other, refresh_token);
    await service.refresh(client, refresh_token);
    assert.deepEqual((await kinds(visitor.user.id)).sort(), ['granted', 'signed_in']);
  });

  test('the newest hundred are kept, for at most half a year', async () => {
    const user = await service.createUser();
    const { securityEvents } = service.app.store;
    for (let i = 0; i < 120; i++) {
      const event = {
        userId: user.id,
        id: `event ${i}`,
        kind: 'signed_in' as const,
        address: '',
        userAgent: '',
      };
      await securityEvents.record({ ...event, at: service.clock.ms + i });
    }
    const kept = await securityEvents.list(user.id, 1000);
    assert.equal(kept.length, 100);
    assert.equal(kept.at(-1)?.at, service.clock.ms + 20);
    service.clock.advance(181 * DAY);
    await new Sweeper(service.app).step();
    assert.deepEqual(await securityEvents.list(user.id, 1000), []);
  });
});
