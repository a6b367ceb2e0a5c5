import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { claimsFor, PROFILE_COLUMNS, profileFrom } from '../../src/protocol/profile.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import {
  authorizePath,
  exchangeForm,
  newVerifier,
  type Reply,
  refreshForm,
  Service,
  type TestClient,
  type Visitor,
} from '../support/service.ts';

type Metadata = Record<string, unknown>;

let service: Service;
let client: TestClient;
let visitor: Visitor;
let metadata: Metadata;
before(async () => {
  service = await Service.startWhereItSays({ POSTERN_RATE_LIMIT: '1000' });
  metadata = (await service.get('/.well-known/oauth-authorization-server')).body;
  client = await service.createClient({ scope: (metadata.scopes_supported as string[]).join(' ') });
  visitor = await service.signedIn();
});
after(() => service.stop());

/** The path of a metadata URL, which must belong to this service. */
function pathAt(name: string): string {
  const url = new URL(metadata[name] as string);
  assert.equal(url.origin, metadata.issuer);
  return url.pathname;
}

async function authorize(changes: Record<string, string> = {}, decision = 'allow'): Promise<URL> {
  const path = authorizePath(client, newVerifier(), changes);
  const page = await visitor.get(path);
  return new URL(page.headers.get('location') ?? (await visitor.decide(path, decision)));
}

/** The error with which an authorization request is redirected. */
const refusal = async (changes: Record<string, string>): Promise<string | null> =>
  (await authorize(changes)).searchParams.get('error');

const basic = (): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`,
});

/** A request without the parameters that authenticate the client. */
function anonymous(form: Record<string, string>): Record<string, string> {
  const { client_id: _id, client_secret: _secret, ...rest } = form;
  return rest;
}

async function authenticates(path: string, form: Record<string, string>): Promise<void> {
  const refused = (reply: Reply) => assert.ok(reply.status === 400 || reply.status === 401, reply.text);
  const { client_id } = form;
  refused(await service.post(path, anonymous(form)));
  refused(await service.post(path, { ...anonymous(form), client_id: client_id! }));
  refused(await service.post(path, { ...form, client_secret: 'wrong' }));
  const assertion = { client_assertion: 'x.y.z', client_assertion_type: 'jwt-bearer' };
  refused(await service.post(path, { ...anonymous(form), client_id: client_id!, ...assertion }));
}

/** One check per metadata field. */
const PROMISES: Record<string, (value: never) => Promise<void>> = {
  async issuer(value: string) {
    assert.equal(value, service.url);
    assert.equal((await authorize()).searchParams.get('iss'), value);
  },

  async authorization_endpoint() {
    const path = authorizePath(client, newVerifier());
    assert.equal(path.split('?')[0], pathAt('authorization_endpoint'));
    assert.equal((await visitor.get(path)).status, 200);
  },

  async token_endpoint() {
    const form = exchangeForm(client, await service.authorize(client, visitor));
    assert.equal((await service.post(pathAt('token_endpoint'), form)).status, 200);
  },

  async revocation_endpoint() {
    const { refresh_token, access_token } = await service.tokens(client, visitor);
    const form = { ...refreshForm(client, refresh_token), token: refresh_token };
    const response = await service.post(pathAt('revocation_endpoint'), form);
    assert.deepEqual(response.body, { revoked: true });
    assert.equal((await service.userinfo(access_token)).status, 401);
  },

  async userinfo_endpoint() {
    const { access_token } = await service.tokens(client, visitor);
    const headers = { authorization: `Bearer ${access_token}` };
    const response = await service.get(pathAt('userinfo_endpoint'), headers);
    assert.equal(response.body.sub, visitor.user.id);
  },

  async service_documentation() {
    const response = await service.get(pathAt('service_documentation'));
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type')!, /^text\/html/);
  },

  async scopes_supported(names: string[]) {
    for (const scope of [...names, names.join(' ')]) {
      assert.equal((await service.tokens(client, visitor, { scope })).scope, scope);
    }
    for (const scope of ['openid', 'offline_access', `${names[0]} unknown`]) {
      assert.equal(await refusal({ scope }), 'invalid_scope');
    }
  },

  async response_types_supported(types: string[]) {
    assert.deepEqual(types, ['code']);
    assert.ok((await authorize({ response_type: 'code' })).searchParams.has('code'));
    for (const response_type of ['token', 'id_token', 'code token', 'none']) {
      assert.equal(await refusal({ response_type }), 'unsupported_response_type');
    }
  },

  async response_modes_supported(modes: string[]) {
    assert.deepEqual(modes, ['query']);
    const back = await authorize({ response_mode: 'query' });
    assert.ok(back.searchParams.has('code'));
    assert.equal(back.hash, '');
  },

  async grant_types_supported(types: string[]) {
    assert.deepEqual(types.toSorted(), ['authorization_code', 'refresh_token']);
    const { refresh_token } = await service.tokens(client, visitor);
    assert.equal((await service.refresh(client, refresh_token)).status, 200);
    for (const grant_type of ['password', 'client_credentials', 'implicit', 'Authorization_Code']) {
      const response = await service.refresh(client, 'any', { grant_type });
      assert.equal(response.body.error, 'unsupported_grant_type');
    }
  },

  async code_challenge_methods_supported(methods: string[]) {
    assert.deepEqual(methods, ['S256']);
    assert.equal(await refusal({ code_challenge_method: 'plain' }), 'invalid_request');
    assert.equal(await refusal({ code_challenge: '' }), 'invalid_request');
  },

  async token_endpoint_auth_methods_supported(methods: string[]) {
    assert.deepEqual(methods.toSorted(), ['client_secret_basic', 'client_secret_post']);
    const path = pathAt('token_endpoint');
    const { refresh_token } = await service.tokens(client, visitor);
    const form = refreshForm(client, refresh_token);
    await authenticates(path, form);
    const byPost = await service.post(path, form);
    assert.equal(byPost.status, 200);
    const next = refreshForm(client, byPost.body.refresh_token as string);
    assert.equal((await service.post(path, anonymous(next), basic())).status, 200);
  },

  async revocation_endpoint_auth_methods_supported(methods: string[]) {
    assert.deepEqual(methods.toSorted(), ['client_secret_basic', 'client_secret_post']);
    const path = pathAt('revocation_endpoint');
    const form = { ...refreshForm(client, 'x'), token: 'unknown' };
    await authenticates(path, form);
    assert.equal((await service.post(path, form)).status, 200);
    assert.equal((await service.post(path, anonymous(form), basic())).status, 200);
  },

  async authorization_response_iss_parameter_supported(value: boolean) {
    assert.equal(value, true);
    for (const back of [await authorize(), await authorize({}, 'deny'), await authorize({ scope: 'x' })]) {
      assert.equal(back.searchParams.get('iss'), metadata.issuer);
    }
  },

  async claims_supported(names: string[]) {
    const everything = claimsFor(
      profileFrom(PROFILE_COLUMNS.map(() => '1')),
      parseScope((metadata.scopes_supported as string[]).join(' '))!,
    );
    assert.deepEqual(names.toSorted(), Object.keys(JSON.parse(JSON.stringify(everything))).toSorted());
    const { access_token } = await service.tokens(client, visitor);
    for (const name of Object.keys((await service.userinfo(access_token)).body)) {
      assert.ok(names.includes(name), name);
    }
  },
};

test('the metadata is cacheable JSON, and every field has a check below', async () => {
  const response = await service.get('/.well-known/oauth-authorization-server');
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type')!, /^application\/json/);
  assert.match(response.headers.get('cache-control')!, /^public, max-age=\d+$/);
  assert.deepEqual(Object.keys(response.body).toSorted(), Object.keys(PROMISES).toSorted());
});

for (const [name, holds] of Object.entries(PROMISES)) {
  test(`the metadata field ${name} is true`, () => holds(metadata[name] as never));
}
