import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DAY, HOUR, hiddenFields, Service, type TestClient, type Visitor } from '../support/service.ts';

describe('connections', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  const pathOf = ({ clientId }: TestClient) => `/account/connections/${clientId}/disconnect`;

  /** The second form of the page: the first one signs out. */
  async function disconnect(visitor: Visitor, client: TestClient) {
    const { form_token } = hiddenFields((await visitor.get('/account/connections')).text);
    return visitor.post(pathOf(client), { form_token: form_token! });
  }

  test('the list is empty at first', async () => {
    const visitor = await service.signedIn();
    assert.match((await visitor.get('/account/connections')).text, /Nothing is connected/);
  });

  test('an application is listed once, with everything that it may read', async () => {
    const visitor = await service.signedIn();
    const client = await service.createClient({ name: '<i>Photo</i> Wall' });
    await service.tokens(client, visitor, { scope: 'profile' });
    service.clock.advance(2 * HOUR);
    await service.tokens(client, visitor, { scope: 'email' });
    service.clock.advance(3 * HOUR);
    const { text } = await visitor.get('/account/connections');
    assert.equal(text.match(/<h2>/g)?.length, 1);
    assert.match(text, /<h2>&lt;i&gt;Photo&lt;\/i&gt; Wall<\/h2>/);
    assert.match(text, /Can read your profile and your e-mail address\./);
    assert.match(text, /last used 3 hours ago/);
    assert.match(text, /client\.example/);
  });

  test('disconnecting revokes every grant of the application at once, and no other', async () => {
    const user = await service.createUser();
    const visitor = await service.signedIn(user);
    const neighbour = await service.signedIn();
    const [client, other] = [await service.createClient(), await service.createClient()];
    const [one, two] = [await service.tokens(client, visitor), await service.tokens(client, visitor)];
    const pending = await service.authorize(client, visitor);
    const kept = await service.tokens(other, visitor);
    const foreign = await service.tokens(client, neighbour);

    assert.match((await visitor.get(pathOf(client))).text, /Disconnect Test application\?/);
    assert.equal((await service.userinfo(one.access_token)).status, 200, 'asking is not doing');
    const response = await disconnect(visitor, client);
    assert.equal(response.headers.get('location'), '/account/connections?done=disconnected');
    for (const tokens of [one, two]) {
      assert.equal((await service.userinfo(tokens.access_token)).status, 401);
      assert.equal((await service.refresh(client, tokens.refresh_token)).body.error, 'invalid_grant');
    }
    assert.equal((await service.exchange(client, pending)).body.error, 'invalid_grant');
    assert.equal((await service.userinfo(kept.access_token)).status, 200);
    assert.equal((await service.userinfo(foreign.access_token)).status, 200);
    assert.equal((await visitor.get(pathOf(client))).status, 404);
    assert.match((await visitor.get('/account')).text, /You disconnected Test application/);
  });

  test('an application that is not connected to this user is 404', async () => {
    const visitor = await service.signedIn();
    const client = await service.createClient();
    const tokens = await service.tokens(client, visitor);
    const stranger = await service.signedIn();
    assert.equal((await stranger.get(pathOf(client))).status, 404);
    assert.equal((await disconnect(stranger, client)).status, 404);
    assert.equal((await stranger.get('/account/connections/no-such-app/disconnect')).status, 404);
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
  });

  test('a grant that expired, was revoked by its application or by reuse is no longer listed', async () => {
    const visitor = await service.signedIn();
    const clients = await Promise.all([1, 2, 3].map(() => service.createClient()));
    const [expired, revoked, reused] = clients as [TestClient, TestClient, TestClient];
    await service.tokens(expired, visitor);
    service.clock.advance(30 * DAY - HOUR);
    // A session lasts fourteen days.
    await visitor.signIn();
    await service.revoke(revoked, (await service.tokens(revoked, visitor)).refresh_token);
    const { refresh_token } = await service.tokens(reused, visitor);
    await service.refresh(reused, refresh_token);
    await service.refresh(reused, refresh_token);
    service.clock.advance(HOUR);
    assert.match((await visitor.get('/account/connections')).text, /Nothing is connected/);
  });
});
