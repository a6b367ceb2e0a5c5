import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import * as openid from 'openid-client';
import { newResourceServerSecret } from '../../src/protocol/client-secret.ts';
import { withinASecond } from '../support/eventually.ts';
import {
  HOUR,
  MINUTE,
  type Reply,
  Service,
  type TestClient,
  type Tokens,
  type Visitor,
} from '../support/service.ts';

type ResourceServer = { id: string; secret: string };

let service: Service;
let client: TestClient;
let visitor: Visitor;
let api: ResourceServer;
before(async () => {
  service = await Service.startWhereItSays();
  client = await service.createClient();
  visitor = await service.signedIn();
  api = await createResourceServer('rs_photos');
});
after(() => service.stop());

async function createResourceServer(id: string): Promise<ResourceServer> {
  const secret = newResourceServerSecret();
  await service.app.store.resourceServers.create({ id, name: 'Photo API', secret, now: service.clock.ms });
  return { id, secret };
}

const basic = ({ id, secret }: ResourceServer): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

const introspect = (token: string, by = api): Promise<Reply> =>
  service.post('/oauth/introspect', { token }, basic(by));

/** Tokens of a new application, so that tests do not share a rate limit. */
const freshTokens = async (): Promise<Tokens> =>
  service.tokens(await service.createClient(), await service.signedIn());

const run = promisify(execFile);
async function cli(...given: string[]): Promise<{ stdout: string; json: Record<string, string> }> {
  const { config } = service.app;
  const env = {
    ...process.env,
    POSTERN_DATA_DIR: service.folder,
    POSTERN_DATABASE_URL: config.databaseUrl,
    ...(config.secret !== undefined && { POSTERN_SECRET: config.secret }),
  };
  const command = join(import.meta.dirname, '../../bin/postern');
  const { stdout } = await run(command, [...given, '--json'], { env });
  return { stdout, json: JSON.parse(stdout) };
}

test('a live access token is described', async () => {
  const tokens = await service.tokens(client, visitor, { scope: 'email' });
  const response = await introspect(tokens.access_token);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.deepEqual(response.body, {
    active: true,
    scope: 'email',
    client_id: client.clientId,
    sub: visitor.user.id,
    token_type: 'Bearer',
    exp: (service.clock.ms + HOUR) / 1000,
  });
});

test('openid-client introspects as a resource server', async () => {
  const tokens = await service.tokens(client, visitor);
  const server = { issuer: service.url, introspection_endpoint: `${service.url}/oauth/introspect` };
  for (const authentication of [openid.ClientSecretBasic(api.secret), openid.ClientSecretPost(api.secret)]) {
    const config = new openid.Configuration(server, api.id, undefined, authentication);
    openid.allowInsecureRequests(config);
    const response = await openid.tokenIntrospection(config, tokens.access_token);
    assert.equal(response.active, true);
    assert.equal(response.sub, visitor.user.id);
  }
});

test('everything but a live access token gets the same response, byte for byte', async () => {
  const issued = await service.authorize(client, visitor);
  const { refresh_token } = await freshTokens();
  const { access_token: live } = await freshTokens();
  const tampered = live.slice(0, -1) + (live.endsWith('A') ? 'B' : 'A');
  const responses = [];
  for (const token of [issued.code, refresh_token, tampered, 'garbage', api.secret, ' ', '\u0000', 'é'])
    responses.push(await introspect(token));
  for (const response of responses) {
    assert.equal(response.status, 200);
    assert.equal(response.text, '{"active":false}');
  }
});

test('a token is inactive once it is revoked or expired, or its grant is revoked, or its user or application disabled', async () => {
  const inactive = async (token: string) =>
    assert.equal((await introspect(token)).text, '{"active":false}', token);
  const live = async (token: string) => assert.equal((await introspect(token)).body.active, true);

  const own = await service.createClient();
  const person = await service.signedIn();
  const { access_token: revoked } = await service.tokens(own, person);
  await live(revoked);
  await service.revoke(own, revoked);
  await inactive(revoked);

  const cut = await service.tokens(own, person);
  await service.revoke(own, cut.refresh_token);
  await inactive(cut.access_token);

  const reused = await service.tokens(own, person);
  await service.refresh(own, reused.refresh_token);
  await service.refresh(own, reused.refresh_token);
  await inactive(reused.access_token);

  const { access_token: ofBoth } = await service.tokens(own, person);
  await service.app.store.applications.setDisabled(own.clientId, true, service.clock.ms);
  await inactive(ofBoth);
  await service.app.store.applications.setDisabled(own.clientId, false, service.clock.ms);
  await live(ofBoth);
  await service.app.store.users.setDisabled(person.user.id, true, service.clock.ms);
  await inactive(ofBoth);
  await service.app.store.users.setDisabled(person.user.id, false, service.clock.ms);

  service.clock.advance(HOUR - 1);
  await live(ofBoth);
  service.clock.advance(1);
  await inactive(ofBoth);
  service.clock.advance(MINUTE);
});

test("an application's credentials are refused in every form, and so is an almost correct secret", async () => {
  const { access_token: token } = await freshTokens();
  const byBody = await service.post('/oauth/introspect', {
    token,
    client_id: client.clientId,
    client_secret: client.clientSecret,
  });
  const byHeader = await introspect(token, { id: client.clientId, secret: client.clientSecret });
  const near = await Promise.all(
    [
      api.secret.slice(0, -1),
      `${api.secret}A`,
      api.secret.toUpperCase(),
      api.secret.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      client.clientSecret,
    ].map((secret) => introspect(token, { id: api.id, secret })),
  );
  const unnamed = await service.post('/oauth/introspect', { token });
  const bearer = await service.post('/oauth/introspect', { token }, { authorization: `Bearer ${token}` });
  const unknown = await introspect(token, { id: 'rs_nobody', secret: '' });
  for (const response of [byBody, byHeader, ...near, unnamed, bearer, unknown]) {
    assert.equal(response.status, 401);
    assert.equal(response.body.error, 'invalid_client');
    assert.match(response.headers.get('www-authenticate')!, /^Basic /);
  }
});

test("a resource server's credentials are refused at token and revoke", async () => {
  const response = await service.refresh(
    { clientId: api.id, clientSecret: api.secret, redirectUri: '' },
    'postern_rt_any',
  );
  assert.equal(response.body.error, 'invalid_client');
});

test('malformed requests: no token, a token in the query, credentials sent twice, a wrong method', async () => {
  assert.equal((await service.post('/oauth/introspect', {}, basic(api))).status, 400);
  const inQuery = await service.post('/oauth/introspect?token=x', { token: 'x' }, basic(api));
  assert.equal(inQuery.body.error, 'invalid_request');
  const twice = await service.post(
    '/oauth/introspect',
    { token: 'x', client_id: api.id, client_secret: api.secret },
    basic(api),
  );
  assert.equal(twice.body.error, 'invalid_request');
  const got = await service.get('/oauth/introspect', basic(api));
  assert.equal(got.status, 405);
  assert.equal(got.headers.get('allow'), 'POST');
});

test('wrong credentials are limited per address; correct ones never are', async () => {
  service.clock.advance(MINUTE);
  const { access_token: token } = await freshTokens();
  for (let i = 0; i < 100; i++) assert.equal((await introspect(token)).status, 200);
  const wrong = { id: api.id, secret: 'wrong' };
  for (let i = 0; i < 30; i++) assert.equal((await introspect(token, wrong)).status, 401);
  const limited = await introspect(token, wrong);
  assert.equal(limited.status, 429);
  assert.equal(limited.body.error, 'rate_limit_exceeded');
  assert.equal(limited.headers.get('retry-after'), '60');
  assert.equal((await introspect(token)).body.active, true);
  service.clock.advance(MINUTE);
  assert.equal((await introspect(token, wrong)).status, 401);
});

test('the command line creates, lists and deletes resource servers beside a running service', async () => {
  const { access_token: token } = await freshTokens();
  const { json: made } = await cli('resource-servers', 'create', '--name', 'Mail API');
  const mail = { id: made.id!, secret: made.secret! };
  await withinASecond(async () => (await introspect(token, mail)).status === 200);

  const { stdout: listed } = await cli('resource-servers', 'list');
  assert.match(listed, new RegExp(mail.id));
  assert.ok(!listed.includes(mail.secret));

  // Attempts before it was known may have used up this address's failed attempts: move to the next window.
  service.clock.advance(MINUTE);
  await cli('resource-servers', 'delete', mail.id);
  await withinASecond(async () => (await introspect(token, mail)).status === 401);
  await assert.rejects(cli('resource-servers', 'delete', mail.id), /There is no resource server/);
  await assert.rejects(cli('resource-servers', 'create', '--name', ' '), /The name must have/);
});

test('neither the database nor the log contains the secret or a token', async () => {
  const { access_token: token } = await freshTokens();
  await introspect(token);
  const stored = JSON.stringify(await service.app.store.resourceServers.list());
  assert.match(stored, new RegExp(api.id));
  for (const index of [stored, service.logged.join('')]) {
    assert.ok(!index.includes(api.secret));
    assert.ok(!index.includes(token));
  }
});
