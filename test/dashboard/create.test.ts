import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { CreationLimit } from '../../src/dashboard/creation-limit.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import {
  authenticates,
  CALLBACK,
  Developer,
  errorsAt,
  formFields,
  pathOf,
  secretIn,
  textOf,
} from '../support/developer.ts';
import { HOUR, MINUTE, type Reply, Service } from '../support/service.ts';

const NEW = '/dashboard/apps/new';

describe('creating an application', () => {
  let service: Service;
  let developer: Developer;
  const count = async () => (await service.app.store.applications.list()).length;

  beforeEach(async () => {
    service = await Service.start();
    developer = await Developer.arrive(service);
  });
  afterEach(() => service.stop());

  it('starts at an empty dashboard that explains how', async () => {
    const { text } = await developer.get('/dashboard');
    assert.match(text, /No applications yet/);
    assert.match(text, /href="\/dashboard\/apps\/new"/);
  });

  it('gives credentials that work at once, and lists the application', async () => {
    const client = await developer.createApplication();
    assert.ok(await authenticates(service, client));
    const { text } = await developer.get('/dashboard');
    for (const shown of ['Photo Wall', client.clientId, 'Active', '1 live secret', '1 Jan 2030'])
      assert.ok(text.includes(shown), shown);
    const tokens = await service.tokens(client, await service.signedIn());
    assert.equal(tokens.scope, 'profile email');
  });

  it('needs no more than a name and redirect URIs: both scopes are then required', async () => {
    const page = await developer.get(NEW);
    const { form_token } = formFields(page.text, NEW);
    const fields = { form_token: form_token!, name: 'Bare', redirect_uris: CALLBACK };
    const shown = await developer.visitor.post(NEW, fields);
    const application = await service.app.store.applications.find(textOf(shown.text, 'client-id'));
    assert.deepEqual(
      [application?.scope, application?.optionalScope, application?.homepageUrl],
      [parseScope('profile email'), 0, null],
    );
  });

  it('stores scopes, home page and several redirect URIs', async () => {
    const client = await developer.createApplication({
      name: '  Photo Wall  ',
      homepage_url: 'https://photos.example/about',
      redirect_uris: `\r\n  ${CALLBACK}  \r\n\r\nhttp://localhost:4000/cb\r\n`,
      scope_profile: 'none',
      scope_email: 'optional',
    });
    const application = await service.app.store.applications.find(client.clientId);
    assert.equal(application?.name, 'Photo Wall');
    assert.equal(application?.homepageUrl, 'https://photos.example/about');
    assert.deepEqual(application?.redirectUris, [CALLBACK, 'http://localhost:4000/cb']);
    assert.deepEqual(
      [application?.scope, application?.optionalScope],
      [parseScope('email'), parseScope('email')],
    );
    assert.equal(application?.ownerId, developer.visitor.user.id);
  });

  it('shows the secret once: it is in no later page, URL, log or database', async () => {
    const shown = await developer.newApplication();
    const secret = secretIn(shown);
    const clientId = textOf(shown.text, 'client-id');
    assert.equal(shown.status, 200);
    assert.equal(shown.headers.get('cache-control'), 'no-store');
    assert.equal(shown.headers.get('location'), null);
    for (const path of [
      '/dashboard',
      NEW,
      `/dashboard/apps/${clientId}`,
      `/dashboard/apps/${clientId}/delete`,
    ])
      assert.ok(!(await developer.get(path)).text.includes(secret), path);
    const random = secret.slice('postern_cs_'.length);
    assert.ok(!service.logged.join('').includes(random));
    for (const file of readdirSync(service.folder))
      assert.ok(!readFileSync(join(service.folder, file)).includes(random), file);
  });

  it('creates and counts one application when the form is posted twice', async () => {
    const fields = {
      ...formFields((await developer.get(NEW)).text, NEW),
      name: 'Once',
      redirect_uris: CALLBACK,
    };
    const replies = await Promise.all(Array.from({ length: 5 }, () => developer.visitor.post(NEW, fields)));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 303, 303, 303, 303]);
    assert.equal(await count(), 1);
    const shown = replies.find(({ status }) => status === 200)!;
    const again = await developer.visitor.post(NEW, fields);
    assert.equal(
      again.headers.get('location'),
      `/dashboard/apps/${textOf(shown.text, 'client-id')}?done=created`,
    );
    assert.match((await developer.get(again.headers.get('location')!)).text, /created by this form before/);
    for (let i = 0; i < 19; i++) assert.equal((await developer.newApplication()).status, 200);
    assert.equal((await developer.newApplication()).status, 429);
  });

  it('does not restore a deleted application when its form is posted again', async () => {
    const fields = {
      ...formFields((await developer.get(NEW)).text, NEW),
      name: 'Gone',
      redirect_uris: CALLBACK,
    };
    const shown = await developer.visitor.post(NEW, fields);
    const path = `/dashboard/apps/${textOf(shown.text, 'client-id')}`;
    await developer.submit(`${path}/delete`, `${path}/delete`, { name: 'Gone' });
    const again = await developer.visitor.post(NEW, fields);
    assert.equal(again.headers.get('location'), '/dashboard');
    assert.equal(await count(), 0);
  });

  it('the same form id of another user creates another application', async () => {
    const other = await Developer.arrive(service);
    const form_id = 'chosen-by-a-stranger';
    assert.equal((await other.newApplication({ form_id })).status, 200);
    assert.equal((await developer.newApplication({ form_id })).status, 200);
    assert.equal(await count(), 2);
  });

  it('explains every error, each redirect URI by its line, and keeps the input', async () => {
    const redirect_uris = [
      'http://app.example/cb',
      '',
      CALLBACK,
      CALLBACK,
      `${CALLBACK}#part`,
      'https://*.example/cb',
      'https://ada:pw@app.example/cb',
      'myapp://callback',
      '/callback',
      'https://app.example/a b',
    ].join('\r\n');
    const reply = await developer.newApplication({
      name: '   ',
      homepage_url: 'ftp://x.example',
      redirect_uris,
    });
    assert.equal(reply.status, 400);
    const errors = errorsAt(reply.text, 'redirect_uris');
    const expected = [
      /^Line 1 .*plain http/,
      /^Line 4 repeats line 3\.$/,
      /^Line 5 .*fragment/,
      /^Line 6 .*wildcard/,
    ];
    expected.push(
      /^Line 7 .*user name/,
      /^Line 8 must begin with https/,
      /^Line 9 is not an absolute URL/,
      /^Line 10 .*space/,
    );
    assert.equal(errors.length, expected.length);
    for (const [index, pattern] of expected.entries()) assert.match(errors[index]!, pattern);
    assert.deepEqual(errorsAt(reply.text, 'name'), ['Give it a name.']);
    assert.match(errorsAt(reply.text, 'homepage_url')[0]!, /must begin with https/);
    assert.equal(formFields(reply.text, NEW).redirect_uris, redirect_uris.replaceAll('\r\n', '\n'));
    assert.equal(await count(), 0);
  });

  it('refuses missing or more than twenty redirect URIs, no scope, and unreadable names', async () => {
    const uris = (n: number) => Array.from({ length: n }, (_, i) => `${CALLBACK}/${i}`).join('\n');
    const errors = async (field: string, fields: Record<string, string>) =>
      errorsAt((await developer.newApplication(fields)).text, field);
    assert.deepEqual(await errors('redirect_uris', { redirect_uris: ' \n \n' }), [
      'Enter at least one redirect URI.',
    ]);
    assert.match(
      (await errors('redirect_uris', { redirect_uris: uris(21) }))[0]!,
      /There are 21 .* at most 20/,
    );
    assert.match(
      (await errors('scopes', { scope_profile: 'none', scope_email: 'none' }))[0]!,
      /at least one/,
    );
    for (const name of ['x'.repeat(81), 'a\u202eb', 'a\u0000b', '\u200b'])
      assert.equal((await errors('name', { name })).length, 1, JSON.stringify(name));
    assert.equal(await count(), 0);
    assert.equal((await developer.newApplication({ redirect_uris: uris(20) })).status, 200);
  });

  it('limits the size of a page of errors', async () => {
    const { text } = await developer.newApplication({ redirect_uris: 'x\n'.repeat(15_000) });
    assert.ok(errorsAt(text, 'redirect_uris').length <= 21);
    assert.ok(text.length < 100_000);
  });
});

describe('the limit of twenty creations per hour', () => {
  let service: Service;
  let developer: Developer;
  const count = async () => (await service.app.store.applications.list()).length;
  const create = (n: number): Promise<Reply[]> =>
    Promise.all(Array.from({ length: n }, () => developer.newApplication()));

  beforeEach(async () => {
    service = await Service.start();
    developer = await Developer.arrive(service);
  });
  afterEach(() => service.stop());

  it('refuses the twenty-first, says when the next is possible, and keeps the input', async () => {
    await create(1);
    service.clock.advance(10 * MINUTE);
    for (const { status } of await create(19)) assert.equal(status, 200);
    service.clock.advance(5 * MINUTE);
    const refused = await developer.newApplication({ name: 'One too many', scope_email: 'optional' });
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), String(45 * 60));
    assert.match(refused.text, /possible in 45 minutes, at <time datetime="2030-01-01T01:00:00.000Z">/);
    const kept = formFields(refused.text, NEW);
    assert.deepEqual(
      [kept.name, kept.redirect_uris, kept.scope_email],
      ['One too many', CALLBACK, 'optional'],
    );
    assert.equal(await count(), 20);
    service.clock.advance(45 * MINUTE - 1);
    assert.equal((await developer.newApplication()).status, 429);
    service.clock.advance(1);
    const fields = { ...kept, form_token: formFields((await developer.get(NEW)).text, NEW).form_token! };
    assert.equal((await developer.visitor.post(NEW, fields)).status, 200, 'the kept form can be sent then');
    assert.equal(await count(), 21);
  });

  it('allows exactly twenty of thirty parallel creations', async () => {
    const statuses = (await create(30)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 20);
    assert.equal(statuses.filter((status) => status === 429).length, 10);
    assert.equal(await count(), 20);
  });

  it('does not count refused forms, and counts per user', async () => {
    for (let i = 0; i < 30; i++) assert.equal((await developer.newApplication({ name: '' })).status, 400);
    for (const { status } of await create(20)) assert.equal(status, 200);
    const other = await Developer.arrive(service);
    assert.equal((await other.newApplication()).status, 200);
  });

  it('is not refunded by deleting', async () => {
    const client = await developer.createApplication();
    await create(19);
    const path = `${pathOf(client)}/delete`;
    await developer.submit(path, path, { name: 'Photo Wall' });
    assert.equal((await developer.newApplication()).status, 429);
  });

  it('starts a window of an hour with the first creation', async () => {
    await create(20);
    service.clock.advance(HOUR);
    for (const { status } of await create(20)) assert.equal(status, 200);
    assert.equal((await developer.newApplication()).status, 429);
  });

  it('refunds a creation that was counted but not made, however many were refused meanwhile', async () => {
    const { app, clock } = service;
    const limit = new CreationLimit(app, 'somebody');
    for (let i = 0; i < 20; i++) assert.equal(await limit.count(clock.ms), undefined);
    for (let i = 0; i < 5; i++) assert.equal(await limit.count(clock.ms), clock.ms + HOUR);
    await limit.refund();
    assert.equal(await limit.count(clock.ms), undefined);
    assert.equal(await limit.count(clock.ms), clock.ms + HOUR);
  });

  it('counts one when two posts of a form overlap', async () => {
    const { store } = service.app;
    const form_id = 'sent-twice';
    await developer.newApplication({ form_id });
    const { ownedApplications } = store;
    mock.method(store, 'ownedApplications', (ownerId: string) => {
      const owned = ownedApplications(ownerId);
      mock.method(owned, 'createdBy', async () => undefined, { times: 1 });
      return owned;
    });
    assert.equal((await developer.newApplication({ form_id })).status, 303);
    mock.restoreAll();
    for (const { status } of await create(19)) assert.equal(status, 200);
    assert.equal((await developer.newApplication()).status, 429);
  });

  it('does not count a creation that failed in the database', async () => {
    const { store } = service.app;
    const { ownedApplications } = store;
    mock.method(store, 'ownedApplications', (ownerId: string) => {
      const owned = ownedApplications(ownerId);
      mock.method(owned, 'create', () => Promise.reject(new Error('the disk is full')));
      return owned;
    });
    assert.equal((await developer.newApplication()).status, 500);
    mock.restoreAll();
    for (const { status } of await create(20)) assert.equal(status, 200);
  });

  it('follows the setting', async () => {
    await service.stop();
    service = await Service.start({ POSTERN_APP_CREATION_LIMIT: '1' });
    developer = await Developer.arrive(service);
    await create(1);
    const { status, text } = await developer.newApplication();
    assert.equal(status, 429);
    assert.match(text, /one application an hour is the most/);
  });
});
