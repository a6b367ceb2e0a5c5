import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openStore } from '../../src/store/store.ts';
import { authenticates, Developer, formFields, pathOf, secretIn } from '../support/developer.ts';
import { DAY, HOUR, MINUTE, Service, type TestClient } from '../support/service.ts';

describe('the secrets of an application', () => {
  let service: Service;
  let developer: Developer;
  let first: TestClient;
  let path: string;
  const page = async () => (await developer.get(path)).text;
  const secrets = async () => (await service.app.store.applications.find(first.clientId))!.secrets;

  beforeEach(async () => {
    service = await Service.start();
    developer = await Developer.arrive(service);
    first = await developer.createApplication();
    path = pathOf(first);
  });
  afterEach(() => service.stop());

  it('are shown by their last four characters', async () => {
    const second = await developer.newSecret(first);
    const text = await page();
    for (const { clientSecret } of [first, second]) {
      assert.ok(text.includes(`…${clientSecret.slice(-4)}`));
      assert.ok(!text.includes(clientSecret));
    }
  });

  it('rotate without downtime: two work, then the old one is refused at once', async () => {
    const second = await developer.newSecret(first);
    assert.ok(await authenticates(service, first));
    assert.ok(await authenticates(service, second));
    const removed = await developer.removeSecret(first);
    assert.equal(removed.headers.get('location'), `${path}?done=secret_removed`);
    assert.equal(await authenticates(service, first), false);
    assert.ok(await authenticates(service, second));
  });

  it('are at most two, also with parallel requests', async () => {
    const form = formFields(await page(), `${path}/secrets`);
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        developer.visitor.post(`${path}/secrets`, { ...form, secret_id: `number-${i}` }),
      ),
    );
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    assert.equal(replies.filter(({ status }) => status === 409).length, 9);
    assert.match(replies.find(({ status }) => status === 409)!.text, /two are live already/);
    assert.equal((await secrets()).length, 2);
    const text = await page();
    assert.ok(!text.includes(`action="${path}/secrets"`), 'the page offers no third');
    assert.match(text, /remove one first/);
  });

  it('leave a bounded number of retired ones behind, the newest', async () => {
    const applications = service.app.store.ownedApplications(developer.visitor.user.id);
    const { clientId } = first;
    for (let n = 0; n < 60; n++) {
      service.clock.advance(1);
      const now = service.clock.ms;
      assert.equal(
        await applications.addSecret(clientId, { id: `s${n}`, secret: `secret ${n}`, now }),
        'added',
      );
      assert.equal(await applications.removeSecret(clientId, `s${n}`, now), 'removed');
    }
    const sql = 'SELECT COUNT(*) AS count, MIN(retired_at) AS oldest FROM retired_secrets';
    const [row] = await service.rows(sql);
    assert.deepEqual([Number(row!.count), Number(row!.oldest)], [50, service.clock.ms - 49]);
  });

  it('show the new one once: the same form again redirects to the application', async () => {
    const form = formFields(await page(), `${path}/secrets`);
    const shown = await developer.visitor.post(`${path}/secrets`, form);
    const secret = secretIn(shown);
    assert.equal(shown.headers.get('cache-control'), 'no-store');
    const again = await developer.visitor.post(`${path}/secrets`, form);
    assert.equal(again.headers.get('location'), `${path}?done=secret_shown`);
    assert.equal((await secrets()).length, 2);
    assert.ok(!(await page()).includes(secret));
  });

  it('keep the last one, also when both are removed in parallel', async () => {
    const text = await page();
    assert.ok(!text.includes('/remove"'), 'a single secret has no Remove');
    const only = await developer.removalPath(first);
    assert.equal((await developer.get(only)).status, 409);
    const { form_token } = formFields(text, path);
    assert.equal((await developer.visitor.post(only, { form_token: form_token! })).status, 409);
    assert.ok(await authenticates(service, first));

    const second = await developer.newSecret(first);
    const both = [await developer.removalPath(first), await developer.removalPath(second)];
    const replies = await Promise.all(
      both.map((removal) => developer.visitor.post(removal, { form_token: form_token! })),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [303, 409]);
    assert.equal((await secrets()).length, 1);
  });

  it('keep one that does not expire', async () => {
    const now = service.clock.ms;
    await service.app.store.applications.rotateSecret(
      first.clientId,
      'postern_cs_made_elsewhere',
      now + DAY,
      now,
    );
    const made = { ...first, clientSecret: 'postern_cs_made_elsewhere' };
    assert.match(await page(), /Ends <time datetime="2030-01-02/);
    const removal = await developer.removalPath(made);
    const { form_token } = formFields(await page(), path);
    assert.equal((await developer.get(removal)).status, 409);
    assert.equal((await developer.visitor.post(removal, { form_token: form_token! })).status, 409);
    assert.equal((await developer.removeSecret(first)).status, 303);
    assert.ok(await authenticates(service, made));
  });

  it('allow a new one when one has expired', async () => {
    const now = service.clock.ms;
    await service.app.store.applications.rotateSecret(
      first.clientId,
      'postern_cs_made_elsewhere',
      now + DAY,
      now,
    );
    service.clock.advance(DAY);
    const text = await page();
    assert.ok(!text.includes(`…${first.clientSecret.slice(-4)}`), 'an expired secret is not shown');
    assert.match((await developer.get('/dashboard')).text, /1 live secret</);
    await developer.newSecret(first);
    assert.equal((await secrets()).length, 2);
  });

  it('are removed after a confirmation, with a warning while in use', async () => {
    const second = await developer.newSecret(first);
    await authenticates(service, first);
    service.clock.advance(5 * MINUTE);
    const removal = await developer.get(await developer.removalPath(first));
    assert.match(removal.text, /This secret is in use/);
    assert.match(removal.text, /5 minutes ago/);
    assert.match((await developer.get(await developer.removalPath(second))).text, /never used/);
    assert.equal((await secrets()).length, 2, 'asking removes nothing');
  });

  it('show when they were last used, and when the old one is safe to remove', async () => {
    const badges = async () =>
      [...(await page()).matchAll(/<code>….{4}<\/code><span class="badge[^>]*>([^<]*)/g)].map(
        ([, text]) => text,
      );
    assert.deepEqual(await badges(), ['Not used yet']);
    await authenticates(service, first);
    assert.deepEqual(await badges(), ['In use']);
    service.clock.advance(HOUR);
    const second = await developer.newSecret(first);
    assert.deepEqual(await badges(), ['In use', 'Not used yet']);
    await authenticates(service, second);
    assert.deepEqual(await badges(), ['In use', 'In use'], 'used within a day: somebody may still have it');
    service.clock.advance(DAY - HOUR);
    assert.deepEqual(await badges(), ['Safe to remove', 'In use']);
    assert.match(await page(), /Last used <time[^>]*>1 day ago/);
    service.clock.advance(2 * DAY);
    assert.deepEqual(await badges(), ['Idle', 'Idle']);
  });

  it('do not count a refused request as a use', async () => {
    await service.revoke({ ...first, clientSecret: 'wrong' }, 'unknown');
    await developer.submit(path, `${path}/disable`);
    await service.revoke(first, 'unknown');
    assert.match(await page(), /Never used/);
  });

  it('keep the time of the last use when the service stops', async () => {
    await authenticates(service, first);
    service.clock.advance(MINUTE);
    await authenticates(service, first);
    await service.app.store.close();
    const store = openStore(service.app.config.databaseUrl);
    const [application] = await store.applications.list();
    assert.equal(application?.secrets[0]?.lastUsedAt, service.clock.ms);
    await store.close();
  });
});
