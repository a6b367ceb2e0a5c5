import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CALLBACK, Developer, formFields, pathOf } from '../support/developer.ts';
import { Service, type TestClient } from '../support/service.ts';

type Route = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly fields?: Record<string, string>;
};

const NEW: readonly Route[] = [
  { method: 'GET', path: '/dashboard' },
  { method: 'GET', path: '/dashboard/apps/new' },
  { method: 'POST', path: '/dashboard/apps/new', fields: { name: 'New', redirect_uris: CALLBACK } },
];

/** Every path of one application, with fields that would have an effect. */
function routesOf(client: TestClient, secretId: string): Route[] {
  const path = pathOf(client);
  return [
    { method: 'GET', path },
    { method: 'POST', path, fields: { name: 'Taken over', redirect_uris: 'https://evil.example/' } },
    { method: 'POST', path: `${path}/disable` },
    { method: 'POST', path: `${path}/enable` },
    { method: 'GET', path: `${path}/delete` },
    { method: 'POST', path: `${path}/delete`, fields: { name: 'Photo Wall' } },
    { method: 'POST', path: `${path}/secrets` },
    { method: 'GET', path: `${path}/secrets/${secretId}/remove` },
    { method: 'POST', path: `${path}/secrets/${secretId}/remove` },
  ];
}

describe('access to the dashboard', () => {
  let service: Service;
  let owner: Developer;
  let stranger: Developer;
  let client: TestClient;
  let routes: Route[];
  const everything = async () => JSON.stringify(await service.app.store.applications.list());

  before(async () => {
    service = await Service.start();
    owner = await Developer.arrive(service);
    stranger = await Developer.arrive(service);
    client = await owner.createApplication();
    await owner.newSecret(client);
    routes = routesOf(client, (await owner.removalPath(client)).split('/').at(-2)!);
  });
  after(() => service.stop());

  it('every page of an application is 404 for another user, and changes nothing', async () => {
    const before = await everything();
    const tokens = formFields((await stranger.get('/dashboard/apps/new')).text, '/dashboard/apps/new');
    const nowhere = await stranger.get('/dashboard/apps/app_that_never_was');
    for (const { method, path, fields } of routes) {
      const reply =
        method === 'GET'
          ? await stranger.get(path)
          : await stranger.visitor.post(path, { form_token: tokens.form_token!, ...fields });
      assert.equal(reply.status, 404, `${method} ${path}`);
      assert.equal(reply.text, nowhere.text, 'exactly as if there were no such application');
    }
    assert.equal(await everything(), before);
    assert.ok(!(await stranger.get('/dashboard')).text.includes(client.clientId));
  });

  it('every statement names the owner: even without the access check another user changes nothing', async () => {
    const before = await everything();
    const now = service.clock.ms + 1;
    const { clientId, secrets, ...application } = (await service.app.store.applications.find(
      client.clientId,
    ))!;
    const theirs = service.app.store.ownedApplications(stranger.visitor.user.id);
    assert.equal(await theirs.find(clientId), undefined);
    assert.equal(await theirs.edit(clientId, { ...application, name: 'Taken over' }, now), false);
    assert.equal(await theirs.disable(clientId, now), false);
    assert.equal(await theirs.delete(clientId, application.name), false);
    assert.equal(await theirs.addSecret(clientId, { id: 'mine', secret: 'mine', now }), 'unknown');
    assert.equal(await theirs.removeSecret(clientId, secrets[0]!.id, now), 'unknown');
    assert.equal(await everything(), before);
    await service.app.store.ownedApplications(application.ownerId).disable(clientId, now);
    assert.equal(await theirs.enable(clientId, now), false);
    assert.equal(await service.app.store.ownedApplications(application.ownerId).enable(clientId, now), true);
  });

  it('redirects to sign-in without a session, and back to the page', async () => {
    const before = await everything();
    for (const { method, path, fields } of [...NEW, ...routes]) {
      const reply = method === 'GET' ? await service.get(path) : await service.post(path, fields ?? {});
      assert.equal(reply.status, 303, `${method} ${path}`);
      const target = new URL(reply.headers.get('location')!, service.url);
      assert.equal(target.pathname, '/login');
      const returnTo = target.searchParams.get('return_to')!;
      if (method === 'GET') assert.equal(returnTo, path);
      assert.equal((await owner.get(returnTo)).status, 200, `${returnTo} is a page`);
      assert.ok(path.startsWith(returnTo), `${returnTo} is the page of ${path}`);
    }
    assert.equal(await everything(), before);
  });

  it('returns to the page after sign-in', async () => {
    const visitor = await service.signedIn(owner.visitor.user);
    visitor.cookies.clear();
    const sentAway = await visitor.get(pathOf(client));
    const back = await visitor.signIn(sentAway.headers.get('location')!);
    assert.equal(back.headers.get('location'), pathOf(client));
    assert.equal((await visitor.get(pathOf(client))).status, 200);
  });

  it('a form without a CSRF token is refused and changes nothing', async () => {
    const before = await everything();
    const foreign = formFields((await stranger.get('/dashboard/apps/new')).text, '/dashboard/apps/new');
    for (const { path, fields } of [...NEW, ...routes].filter(({ method }) => method === 'POST')) {
      for (const token of [
        {},
        { form_token: '' },
        { form_token: 'x' },
        { form_token: foreign.form_token! },
      ]) {
        const reply = await owner.visitor.post(path, { ...fields, ...token });
        assert.equal(reply.status, 403, path);
      }
    }
    assert.equal(await everything(), before);
  });

  it('a cross-site form is refused even with its CSRF token', async () => {
    const before = await everything();
    const { form_token } = formFields((await owner.get(pathOf(client))).text, pathOf(client));
    for (const { path, fields } of [...NEW, ...routes].filter(({ method }) => method === 'POST')) {
      const reply = await owner.visitor.post(
        path,
        { ...fields, form_token: form_token! },
        { 'sec-fetch-site': 'cross-site' },
      );
      assert.equal(reply.status, 403, path);
    }
    assert.equal(await everything(), before);
  });

  it('a malformed client_id in the path is 404', async () => {
    for (const id of ['%00', '%22', 'a'.repeat(65), '..%2f..', 'app_%F0%9F%92%A9'])
      assert.equal((await owner.get(`/dashboard/apps/${id}`)).status, 404, id);
    const { form_token } = formFields((await owner.get(pathOf(client))).text, pathOf(client));
    for (const id of ['%00', 'unknown', 'a'.repeat(65)]) {
      const path = `${pathOf(client)}/secrets/${id}/remove`;
      assert.equal((await owner.get(path)).status, 404);
      assert.equal((await owner.visitor.post(path, { form_token: form_token! })).status, 404);
    }
  });

  it('pages are not cached, framed or loaded with foreign content', async () => {
    for (const { path } of [...NEW, ...routes].filter(({ method }) => method === 'GET')) {
      const { headers } = await owner.get(path);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(headers.get('content-security-policy')!, /default-src 'none'.*frame-ancestors 'none'/);
    }
  });
});
