import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Sweeper } from '../../src/sweeper.ts';
import { Developer } from '../support/developer.ts';
import { Service, type TestClient, type Tokens, type Visitor } from '../support/service.ts';

const PATH = '/dashboard/playground';

describe('a playground application that the operator disabled', () => {
  let service: Service;
  let victim: Visitor;
  before(async () => {
    service = await Service.startWhereItSays();
    victim = await service.signedIn();
  });
  after(() => service.stop());

  type Attack = { attacker: Developer; client: TestClient; tokens: Tokens; path: string };

  /** A developer whose playground application got tokens of a victim, before the operator disabled it. */
  async function disabledPlayground(): Promise<Attack> {
    const attacker = await Developer.arrive(service);
    const { text } = await attacker.get(PATH);
    const clientId = /playground_[0-9a-f]{24}/.exec(text)![0];
    const clientSecret = `postern_cs_${service.app.keys.pageSigner.sign('playground secret', attacker.visitor.user.id)}`;
    const client = { clientId, clientSecret, redirectUri: `${service.app.config.baseUrl}${PATH}/callback` };
    const tokens = await service.tokens(client, victim);
    await service.app.store.applications.setDisabled(clientId, true, service.clock.ms);
    return { attacker, client, tokens, path: `/dashboard/apps/${clientId}` };
  }

  async function assertStaysDisabled({ attacker, client, tokens }: Attack): Promise<void> {
    const page = await attacker.get(PATH);
    await attacker.get(`${PATH}/callback?code=x&state=y`);
    const application = await service.app.store.applications.find(client.clientId);
    assert.equal(application?.disabledBy, 'operator');
    assert.equal((await service.userinfo(tokens.access_token)).status, 401);
    assert.equal((await service.refresh(client, tokens.refresh_token)).status, 401);
    assert.equal(page.status, 403);
    assert.match(page.text, /disabled your playground/);
  }

  /** A form of this service, as its owner may send it, whether or not a page shows it. */
  async function post({ attacker }: Attack, path: string, fields: Record<string, string>): Promise<number> {
    const page = await attacker.get('/dashboard/apps/new');
    const token = / name="form_token" value="([^"]*)"/.exec(page.text)![1]!;
    return (await attacker.visitor.post(path, { form_token: token, ...fields })).status;
  }

  it('is not created again by a visit', async () => assertStaysDisabled(await disabledPlayground()));

  it('cannot be edited, so that it would be created again', async () => {
    const attack = await disabledPlayground();
    const fields = {
      name: 'Photo Wall',
      redirect_uris: 'https://evil.example/callback',
      scope_email: 'none',
    };
    assert.equal(await post(attack, attack.path, fields), 403);
    await assertStaysDisabled(attack);
  });

  it('cannot be deleted or enabled, nor its secrets changed', async () => {
    const attack = await disabledPlayground();
    assert.equal(await post(attack, `${attack.path}/delete`, { name: 'Playground' }), 403);
    assert.equal(await post(attack, `${attack.path}/enable`, {}), 403);
    assert.equal(await post(attack, `${attack.path}/secrets`, {}), 403);
    await assertStaysDisabled(attack);
  });

  it('stays disabled when its settings follow a change of the service', async () => {
    const attack = await disabledPlayground();
    const { clientId } = attack.client;
    const { applications } = service.app.store;
    await applications.rotateSecret(clientId, 'another secret', service.clock.ms, service.clock.ms);
    await assertStaysDisabled(attack);
    await applications.setDisabled(clientId, false, service.clock.ms);
    assert.equal((await attack.attacker.get(PATH)).status, 200);
    const application = await applications.find(clientId);
    assert.equal(application?.secrets.length, 1);
    assert.equal((await service.userinfo(attack.tokens.access_token)).status, 200, 'enabled by the operator');
  });

  async function deleteAccount({ visitor }: Developer): Promise<void> {
    const page = await visitor.get('/account/delete');
    const token = / name="form_token" value="([^"]*)"/.exec(page.text)![1]!;
    await visitor.post('/account/delete', { form_token: token, current_password: visitor.user.password });
    assert.equal(await service.app.store.users.find(visitor.user.id), undefined);
  }

  it('does not come back when its owner visits the playground while the account is being deleted', async (t) => {
    const { attacker, client } = await disabledPlayground();
    const { applications } = service.app.store;
    const { delete: deleteApplication } = applications;
    t.mock.method(applications, 'delete', async (clientId: string) => {
      const deleted = await deleteApplication.call(applications, clientId);
      await attacker.get(PATH);
      return deleted;
    });
    await deleteAccount(attacker);
    assert.equal(await applications.find(client.clientId), undefined);
  });

  it('does not come back by a visit that was under way when the account was deleted', async (t) => {
    const owner = await Developer.arrive(service);
    const { applications } = service.app.store;
    const { create } = applications;
    const mock = t.mock.method(applications, 'create', async (application: Parameters<typeof create>[0]) => {
      await deleteAccount(owner);
      return create.call(applications, application);
    });
    await owner.get(PATH);
    assert.equal(mock.mock.callCount(), 1);
    assert.deepEqual(await service.app.store.ownedApplications(owner.visitor.user.id).list(), []);
  });
});

describe('the grants of a deleted application', () => {
  it('end in bounded steps, so that no application with the same client_id can revive them', async () => {
    const service = await Service.start();
    try {
      const { clientId, clientSecret, redirectUri } = await service.createClient();
      const victim = await service.signedIn();
      const kept = await service.createClient();
      const tokens = await service.tokens({ clientId, clientSecret, redirectUri }, victim);
      const others = await service.tokens(kept, victim);
      const { applications } = service.app.store;
      const application = (await applications.find(clientId))!;
      await applications.delete(clientId);
      assert.equal((await service.userinfo(tokens.access_token)).status, 401);
      await new Sweeper(service.app).step();
      const reasons = await service.rows(`SELECT revoked_reason FROM grants WHERE client_id = '${clientId}'`);
      assert.deepEqual(
        reasons.map((row) => row.revoked_reason),
        ['application_deleted'],
      );
      await applications.create({ ...application, secret: clientSecret, now: service.clock.ms });
      assert.equal((await service.userinfo(tokens.access_token)).status, 401);
      assert.equal((await service.userinfo(others.access_token)).status, 200);
    } finally {
      await service.stop();
    }
  });
});
