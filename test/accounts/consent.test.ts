import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  authorizePath,
  hiddenFields,
  newVerifier,
  Service,
  type TestClient,
  type Visitor,
} from '../support/service.ts';

describe('the consent screen', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  const consent = async (visitor: Visitor, client: TestClient) =>
    (await visitor.get(authorizePath(client, newVerifier()))).text;

  test('shows the values that will be read, the application, the redirect host and the signed-in user', async () => {
    const owner = await service.createUser('grace@photos.example', 'Grace Hopper');
    const user = await service.createUser('ada@example.com');
    const visitor = await service.signedIn(user);
    const client = await service.createClient({
      ownerId: owner.id,
      redirectUris: ['https://app.photos.example/cb'],
    });
    const text = await consent(visitor, client);
    assert.match(text, /<dt>Your name:<\/dt> <dd>Ada Lovelace<\/dd>/);
    assert.match(text, /<dt>Your e-mail:<\/dt> <dd>ada@example.com, verified<\/dd>/);
    assert.match(text, /Not set by you: user name, picture, language/);
    assert.match(text, /registered by somebody at <strong>photos\.example<\/strong>/);
    assert.match(text, /Either way you then go to <strong>app\.photos\.example<\/strong>/);
    assert.match(text, /Signed in as <strong>ada@example\.com<\/strong>/);
    assert.doesNotMatch(text, /grace@/, 'only the domain of the owner is disclosed');
  });

  test("says when the owner's or the user's address is not verified", async () => {
    const owner = await service.createUser('mallory@bank.example', 'Mallory', false);
    const visitor = await service.signedIn(await service.createUser('bob@example.com', 'Bob', false));
    const text = await consent(visitor, await service.createClient({ ownerId: owner.id }));
    assert.match(text, /Who registered it is not confirmed/);
    assert.doesNotMatch(text, /bank\.example/);
    assert.match(text, /bob@example\.com, not verified/);
  });

  test('shows only the requested scopes', async () => {
    const visitor = await service.signedIn();
    const client = await service.createClient();
    const { text } = await visitor.get(authorizePath(client, newVerifier(), { scope: 'profile' }));
    assert.doesNotMatch(text, /Your e-mail/);
  });

  test('an optional scope can be left out, a required one cannot', async () => {
    const visitor = await service.signedIn();
    const client = await service.createClient({ optionalScope: 'email' });
    const page = await consent(visitor, client);
    assert.match(page, /type="checkbox" name="scope_email" value="yes" checked/);
    assert.doesNotMatch(page, /scope_profile/);
    const scopeWith = async (fields: Record<string, string>) => {
      const verifier = newVerifier();
      const location = await visitor.allow(authorizePath(client, verifier), fields);
      const code = new URL(location).searchParams.get('code')!;
      return (await service.exchange(client, { code, verifier })).body.scope;
    };
    assert.equal(await scopeWith({ scope_email: 'yes' }), 'profile email');
    assert.equal(await scopeWith({}), 'profile');
  });

  test('grants what the screen showed, never what the owner changed while it was open', async () => {
    const owner = await service.createUser();
    const visitor = await service.signedIn();
    const original = { name: 'Photo Wall', scope: 3, optionalScope: 2, homepageUrl: null };
    for (const change of [{ optionalScope: 0 }, { name: 'Your Bank' }]) {
      const client = await service.createClient({
        ownerId: owner.id,
        name: original.name,
        optionalScope: 'email',
      });
      const path = authorizePath(client, newVerifier());
      const { text } = await visitor.get(path);
      const redirectUris = [client.redirectUri];
      const applications = service.app.store.ownedApplications(owner.id);
      await applications.edit(client.clientId, { ...original, redirectUris, ...change }, service.clock.ms);
      const reply = await visitor.post('/oauth/authorize', { ...hiddenFields(text), decision: 'allow' });
      assert.equal(reply.headers.get('location'), path, 'the changed screen is shown first');
      const rows = await service.rows(`SELECT id FROM grants WHERE client_id = '${client.clientId}'`);
      assert.deepEqual(rows, []);
      const denied = await visitor.post('/oauth/authorize', { ...hiddenFields(text), decision: 'deny' });
      assert.match(denied.headers.get('location')!, /error=access_denied/);
    }
  });

  test('hostile names appear as text', async () => {
    const hostile = '"><script>alert(1)</script>';
    const visitor = await service.signedIn(await service.createUser(undefined, hostile));
    const text = await consent(visitor, await service.createClient({ name: hostile }));
    assert.doesNotMatch(text, /<script>alert/);
    assert.equal(
      text.match(/&quot;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;/g)?.length,
      3,
      'title, heading, value',
    );
  });

  test('switching the account returns to the request', async () => {
    const visitor = await service.signedIn();
    const path = authorizePath(await service.createClient(), newVerifier());
    const { text } = await visitor.get(path);
    const fields = hiddenFields(text.slice(text.indexOf('action="/logout"') - 60));
    const response = await visitor.post('/logout', fields);
    assert.equal(response.headers.get('location'), path);
    assert.match((await visitor.get(path)).headers.get('location') ?? '', /^\/login\?return_to=/);
  });
});

describe('an authorization request that must not be redirected', () => {
  let service: Service;
  before(async () => {
    service = await Service.start();
  });
  after(() => service.stop());

  test('tells the user that it is not their fault, and the developer what to fix', async () => {
    const client = await service.createClient({
      name: 'Photo <Wall>',
      redirectUris: ['https://secret.example/cb'],
    });
    const redirect_uri = 'https://evil.example/cb?<script>';
    const { status, text, headers } = await service.get(
      authorizePath(client, newVerifier(), { redirect_uri }),
    );
    assert.equal(status, 400);
    assert.equal(headers.get('location'), null);
    assert.match(text, /You did nothing wrong/);
    assert.match(text, /Photo &lt;Wall&gt;/);
    assert.match(text, /<details>/);
    assert.match(text, /<code>https:\/\/evil\.example\/cb\?&lt;script&gt;<\/code>/);
    assert.doesNotMatch(text, /href="https:\/\/evil/);
    assert.doesNotMatch(text, /secret\.example/, 'registered redirect URIs are not disclosed');
    assert.match(text, /Request [0-9a-z]{23}/);
    const logged = service.logged
      .map((line) => JSON.parse(line))
      .find(({ reason }) => reason === 'redirect_uri_unregistered');
    assert.ok(text.includes(`Request ${logged.request_id}`));
  });

  test('explains every reason', async () => {
    const client = await service.createClient();
    const disabled = await service.createClient();
    await service.app.store.applications.setDisabled(disabled.clientId, true, service.clock.ms);
    const cases: [string, RegExp][] = [
      ['/oauth/authorize', /client_id is missing/],
      ['/oauth/authorize?client_id=unknown', /No application is registered/],
      [authorizePath(disabled, newVerifier()), /switched off at the moment/],
      [`/oauth/authorize?client_id=${client.clientId}`, /redirect_uri is missing/],
      [`${authorizePath(client, newVerifier())}&redirect_uri=x`, /given more than once/],
    ];
    for (const [path, words] of cases) {
      const { status, text } = await service.get(path);
      assert.equal(status, 400, path);
      assert.match(text, words);
    }
  });
});

test('the start page redirects a signed-in user to the account', async () => {
  const service = await Service.start();
  try {
    assert.match((await service.get('/')).text, /href="\/login"/);
    const visitor = await service.signedIn();
    assert.equal((await visitor.get('/')).headers.get('location'), '/account');
    assert.match((await visitor.get('/logout')).text, /Sign out\?/);
    await visitor.post('/logout', hiddenFields((await visitor.get('/logout')).text));
    assert.equal((await visitor.get('/')).status, 200);
    assert.equal((await visitor.get('/logout')).status, 303);
  } finally {
    await service.stop();
  }
});
