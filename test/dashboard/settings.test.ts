import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { parseScope } from '../../src/protocol/scope.ts';
import {
  authenticates,
  CALLBACK,
  Developer,
  errorsAt,
  formFields,
  pathOf,
  textOf,
} from '../support/developer.ts';
import { authorizePath, newVerifier, Service, type TestClient } from '../support/service.ts';

describe('an application and its settings', () => {
  let service: Service;
  let developer: Developer;
  let client: TestClient;
  let path: string;
  const stored = async () => (await service.app.store.applications.find(client.clientId))!;
  const save = (fields: Record<string, string>) => developer.submit(path, path, fields);

  beforeEach(async () => {
    service = await Service.start();
    developer = await Developer.arrive(service);
    client = await developer.createApplication();
    path = pathOf(client);
  });
  afterEach(() => service.stop());

  it('shows what an integration needs', async () => {
    const { text } = await developer.get(path);
    for (const endpoint of ['authorize', 'token', 'userinfo', 'revoke'])
      assert.ok(text.includes(`>http://postern.test/oauth/${endpoint}<`), endpoint);
    const example = new URL(textOf(text, 'example-url'));
    assert.equal(example.searchParams.get('client_id'), client.clientId);
    assert.equal(example.searchParams.get('redirect_uri'), CALLBACK);
    assert.equal(example.searchParams.get('scope'), 'profile email');
    assert.equal(example.searchParams.get('code_challenge_method'), 'S256');
  });

  it('shows an example URL that leads to the consent screen', async () => {
    const example = new URL(textOf((await developer.get(path)).text, 'example-url'));
    example.searchParams.set('code_challenge', 'x'.repeat(43));
    const { status, text } = await developer.get(example.pathname + example.search);
    assert.equal(status, 200);
    assert.match(text, /Photo Wall/);
  });

  it('are saved, and take effect at once', async () => {
    const person = await service.signedIn();
    const moved = { ...client, redirectUri: 'https://new.example/cb' };
    const ask = (as: TestClient) => person.get(authorizePath(as, newVerifier()));
    assert.equal((await ask(client)).status, 200);
    assert.equal((await ask(moved)).status, 400);
    const saved = await save({
      name: 'Photo Hall',
      homepage_url: 'https://new.example',
      redirect_uris: moved.redirectUri,
      scope_profile: 'none',
      scope_email: 'optional',
    });
    assert.equal(saved.headers.get('location'), `${path}?done=saved`);
    assert.equal((await ask(client)).status, 400);
    const consent = await ask(moved);
    assert.equal(consent.status, 200);
    assert.match(consent.text, /Photo Hall/);
    const { scope, optionalScope, homepageUrl } = await stored();
    assert.deepEqual(
      [scope, optionalScope, homepageUrl],
      [parseScope('email'), parseScope('email'), 'https://new.example'],
    );
    const page = await developer.get(saved.headers.get('location')!);
    assert.match(page.text, /Saved\./);
    const fields = formFields(page.text, path);
    assert.deepEqual([fields.scope_profile, fields.scope_email], ['none', 'optional']);
  });

  it('stay unchanged when the form omits them', async () => {
    await save({ scope_profile: 'optional', scope_email: 'none', homepage_url: 'https://app.example' });
    const { form_token } = formFields((await developer.get(path)).text, path);
    await developer.visitor.post(path, { form_token: form_token!, name: 'Renamed' });
    const { name, redirectUris, homepageUrl, scope, optionalScope } = await stored();
    assert.deepEqual([name, redirectUris, homepageUrl], ['Renamed', [CALLBACK], 'https://app.example']);
    assert.deepEqual([scope, optionalScope], [parseScope('profile'), parseScope('profile')]);
  });

  it('can remove the home page again', async () => {
    await save({ homepage_url: 'https://new.example' });
    await save({ homepage_url: '' });
    assert.equal((await stored()).homepageUrl, null);
  });

  it('are saved completely or not at all, with each error at its field', async () => {
    const before = await stored();
    const reply = await save({
      name: 'Right',
      redirect_uris: `${CALLBACK}\nhttp://app.example\n${CALLBACK}`,
    });
    assert.equal(reply.status, 400);
    assert.match(errorsAt(reply.text, 'redirect_uris')[0]!, /^Line 2 uses plain http/);
    assert.equal(errorsAt(reply.text, 'redirect_uris')[1], 'Line 3 repeats line 1.');
    assert.equal(formFields(reply.text, path).name, 'Right', 'what was typed is kept');
    assert.match(reply.text, /<h1>Photo Wall<\/h1>/, 'and the title is still the stored name');
    assert.deepEqual(await stored(), before);
  });

  it('can be changed while its users are connected', async () => {
    const tokens = await service.tokens(client, await service.signedIn());
    await save({ name: 'Photo Hall', redirect_uris: 'https://new.example/cb' });
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
    assert.equal((await service.refresh(client, tokens.refresh_token)).status, 200);
  });

  it('disabling refuses everything at once, enabling reverses it', async () => {
    const tokens = await service.tokens(client, await service.signedIn());
    assert.equal((await developer.submit(path, `${path}/disable`)).status, 303);
    assert.equal(await authenticates(service, client), false);
    assert.equal((await service.userinfo(tokens.access_token)).status, 401);
    const refused = await service.refresh(client, tokens.refresh_token);
    assert.equal(refused.body.error, 'invalid_client');
    const page = (await developer.get(path)).text;
    assert.match(page, /This application is disabled/);
    assert.match((await developer.get('/dashboard')).text, /Disabled/);
    assert.equal((await developer.submit(path, `${path}/enable`)).status, 303);
    assert.ok(await authenticates(service, client));
    assert.equal((await service.refresh(client, tokens.refresh_token)).status, 200);
  });

  it('the owner cannot enable what the operator disabled', async () => {
    const { applications } = service.app.store;
    const { form_token } = formFields((await developer.get(path)).text, path);
    await developer.submit(path, `${path}/disable`);
    await applications.setDisabled(client.clientId, true, service.clock.ms);
    const page = (await developer.get(path)).text;
    assert.match(page, /people who run this service have disabled/);
    assert.ok(!page.includes(`${path}/enable`));
    assert.equal((await developer.visitor.post(`${path}/enable`, { form_token: form_token! })).status, 409);
    await developer.visitor.post(`${path}/disable`, { form_token: form_token! });
    assert.equal((await developer.visitor.post(`${path}/enable`, { form_token: form_token! })).status, 409);
    assert.equal(await authenticates(service, client), false);
    await applications.setDisabled(client.clientId, false, service.clock.ms);
    assert.ok(await authenticates(service, client));
  });

  it('is deleted, with everything it has, only when its name is typed', async () => {
    const tokens = await service.tokens(client, await service.signedIn());
    const remove = (name: string) => developer.submit(`${path}/delete`, `${path}/delete`, { name });
    for (const name of ['', 'photo wall', 'Photo Wal', client.clientId]) {
      const reply = await remove(name);
      assert.equal(reply.status, 400);
      assert.deepEqual(errorsAt(reply.text, 'name'), ['This is not its name. Nothing was deleted.']);
    }
    assert.ok(await authenticates(service, client));
    assert.equal((await remove('  Photo Wall ')).headers.get('location'), '/dashboard?done=deleted');
    assert.equal(await authenticates(service, client), false);
    assert.equal((await service.userinfo(tokens.access_token)).status, 401);
    assert.equal((await developer.get(path)).status, 404);
    assert.match((await developer.get('/dashboard?done=deleted')).text, /The application is deleted/);
    assert.deepEqual(await service.app.store.applications.list(), []);
  });

  it('the name is compared as displayed: white space collapses', async () => {
    await save({ name: 'Photo   Wall\u00e9' });
    const reply = await developer.submit(`${path}/delete`, `${path}/delete`, { name: 'Photo Walle\u0301' });
    assert.equal(reply.status, 303);
  });

  it('deletes only while it still has the confirmed name', async () => {
    const applications = service.app.store.ownedApplications(developer.visitor.user.id);
    assert.equal(await applications.delete(client.clientId, 'Another name'), false);
    assert.ok(await authenticates(service, client), 'its secrets are still there');
  });

  it('of two parallel changes one is saved completely', async () => {
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        save({ name: `Name ${i}`, redirect_uris: `https://app.example/${i}` }),
      ),
    );
    const { name, redirectUris } = await stored();
    assert.deepEqual(redirectUris, [`https://app.example/${name.slice('Name '.length)}`]);
  });
});

describe('hostile text on the dashboard', () => {
  const NAMES = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onfocus='alert(1)",
    '</title><h1>Hi</h1>',
    '&lt;b&gt;',
    '{{7*7}}',
  ];
  const URIS = [
    "https://app.example/'onmouseover='alert(1)",
    'https://app.example/?a=1&b=2&amp;c=3',
    'https://app.example/%3Cscript%3E',
  ];

  it('is escaped everywhere', async () => {
    const service = await Service.start();
    const developer = await Developer.arrive(service);
    for (const name of NAMES) {
      const client = await developer.createApplication({
        name,
        redirect_uris: URIS.join('\n'),
        homepage_url: "https://app.example/'x",
      });
      const path = pathOf(client);
      await developer.newSecret(client);
      const refused = await developer.newApplication({
        name,
        redirect_uris: `javascript:alert(1)//"><svg onload=x>`,
      });
      const pages = [
        await developer.get('/dashboard'),
        await developer.get(path),
        await developer.get(`${path}/delete`),
        await developer.get(await developer.removalPath(client)),
        refused,
      ];
      for (const { text } of pages) {
        for (const forbidden of [
          /<script>/,
          /<img/,
          /<svg onload/,
          /<h1>Hi/,
          / onfocus='/,
          / onmouseover=/,
          /<b>/,
        ])
          assert.doesNotMatch(text, forbidden);
      }
      const fields = formFields(pages[1]!.text, path);
      assert.equal(fields.name, name);
      assert.equal(fields.redirect_uris, URIS.join('\n'));
      assert.equal(formFields(refused.text, '/dashboard/apps/new').name, name);
      const gone = await developer.submit(`${path}/delete`, `${path}/delete`, { name });
      assert.equal(gone.status, 303, name);
    }
    await service.stop();
  });
});
