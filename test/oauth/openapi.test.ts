import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { METHOD_NOT_ALLOWED } from '../../src/protocol/errors.ts';
import type { ApiDocument, Operation, Response } from '../../src/protocol/openapi-document.ts';
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

const TOKEN = '/oauth/token';
const REVOKE = '/oauth/revoke';

let service: Service;
let client: TestClient;
let visitor: Visitor;
let document: ApiDocument;
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
/** Every status and every example of an error that a real response has matched. */
const met = new Set<string>();

before(async () => {
  service = await Service.startWhereItSays();
  client = await service.createClient();
  visitor = await service.signedIn();
  document = (await service.get('/openapi.json')).body as unknown as ApiDocument;
  ajv.addSchema(document, 'postern');
});
after(() => service.stop());

const pointer = (...steps: string[]): string =>
  steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

function validate(value: unknown, ...index: string[]): void {
  const check = ajv.compile({ $ref: `postern#${pointer(...index)}` });
  assert.ok(check(value), `${index.join(' ')}: ${ajv.errorsText(check.errors)}\n${JSON.stringify(value)}`);
}

function operationAt(method: 'get' | 'post', path: string): Operation {
  const operation = document.paths[path]?.[method];
  assert.ok(operation, `${method} ${path} is not described`);
  return operation;
}

/** Holds a real response against the document: status, headers, type and body. */
function conforms(method: 'get' | 'post', path: string, reply: Reply): void {
  const status = String(reply.status);
  const response = operationAt(method, path).responses[status];
  assert.ok(response, `${method} ${path} answered ${status}: ${reply.text}`);
  met.add(`${path} ${status}`);
  const index = ['paths', path, method, 'responses', status];
  for (const [name, { required, schema }] of Object.entries(response.headers ?? {})) {
    const text = reply.headers.get(name);
    assert.ok(text !== null || !required, `${path} ${status} lacks ${name}`);
    const value = schema.type === 'integer' ? Number(text) : text;
    if (text !== null) validate(value, ...index, 'headers', name, 'schema');
  }
  const type = reply.headers.get('content-type')?.split(';')[0];
  const media = type && response.content?.[type];
  if (!response.content) {
    assert.equal(reply.text, '');
    return;
  }
  assert.ok(media, `${path} ${status} came as ${type}`);
  validate(type === 'application/json' ? reply.body : reply.text, ...index, 'content', type, 'schema');
  if (type === 'application/json') nothingBeyond(path, response, reply);
}

/** Neither a field nor the wording of an error that the document does not have. */
function nothingBeyond(path: string, response: Response, reply: Reply): void {
  const { schema, examples = {} } = response.content!['application/json']!;
  const { properties = {} } = document.components.schemas[schema.$ref!.split('/').at(-1)!]!;
  assert.deepEqual(
    Object.keys(reply.body).filter((name) => !(name in properties)),
    [],
  );
  if (reply.status < 400) return;
  // Where the reason can be read differs from request to request, and only these two endpoints say it.
  const { error_uri: why, ...rest } = reply.body;
  const expected = path === TOKEN || path === REVOKE ? reply.headers.get('x-request-id') : undefined;
  assert.equal(why, expected && `${service.url}/errors/${expected}`);
  const example = Object.entries(examples).find(
    ([, { value }]) => JSON.stringify(value) === JSON.stringify(rest),
  );
  assert.ok(example, `${path} ${reply.status} has no such example: ${reply.text}`);
  met.add(`${path} ${reply.status} ${example[0]}`);
}

/** Makes one step of the store fail while `request` is answered. */
async function failing<T extends object, K extends keyof T>(
  part: T,
  step: K,
  request: () => Promise<Reply>,
): Promise<Reply> {
  const original = part[step];
  part[step] = (() => Promise.reject(new Error('made to fail'))) as T[K];
  try {
    return await request();
  } finally {
    part[step] = original;
  }
}

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const copy: unknown = structuredClone(document);
  const result = await validator.validate(copy as Parameters<Validator['validate']>[0]);
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(result.valid, true);
  assert.equal(validator.version, '3.1');
});

test('it describes the endpoints of the contract, where the metadata says they are, and no other', async () => {
  const metadata = (await service.get('/.well-known/oauth-authorization-server')).body;
  assert.equal(document.servers[0]?.url, metadata.issuer);
  const announced = ['authorization', 'token', 'revocation', 'userinfo'].map(
    (name) => new URL(metadata[`${name}_endpoint`] as string).pathname,
  );
  assert.deepEqual(Object.keys(document.paths).toSorted(), announced.toSorted());
});

test('every example is valid against the schema it illustrates', () => {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, { responses }] of Object.entries(item) as [string, Operation][]) {
      for (const [status, { content = {} }] of Object.entries(responses)) {
        for (const [type, { examples = {} }] of Object.entries(content)) {
          const index = ['paths', path, method, 'responses', status, 'content', type, 'schema'];
          for (const { value } of Object.values(examples)) validate(value, ...index);
        }
      }
    }
  }
});

describe('real responses are as described', () => {
  const tooLarge = { token: 'x'.repeat(65 * 1024) };

  test('token: both grants, as form and as JSON; and what is sent fits the request schema', async () => {
    const form = exchangeForm(client, await service.authorize(client, visitor));
    validate(form, 'components', 'schemas', 'CodeExchange');
    const issued = await service.post(TOKEN, form);
    conforms('post', TOKEN, issued);
    const next = refreshForm(client, issued.body.refresh_token as string);
    validate(next, 'components', 'schemas', 'Refresh');
    const headers = { 'content-type': 'application/json' };
    const renewed = await service.send(TOKEN, { method: 'POST', body: JSON.stringify(next), headers });
    assert.equal(renewed.status, 200);
    conforms('post', TOKEN, renewed);
    conforms('post', TOKEN, await service.post(TOKEN, next));
  });

  test('token: every refusal', async () => {
    const own = await service.createClient();
    const { refresh_token } = await service.tokens(own, visitor, { scope: 'email' });
    conforms('post', TOKEN, await service.post(TOKEN, {}));
    conforms('post', TOKEN, await service.refresh(own, 'forged'));
    conforms('post', TOKEN, await service.refresh(own, 'x', { grant_type: 'password' }));
    conforms('post', TOKEN, await service.refresh(own, refresh_token, { scope: 'profile' }));
    conforms('post', TOKEN, await service.refresh(own, 'x', { client_secret: 'wrong' }));
    conforms('post', TOKEN, await service.post(TOKEN, tooLarge));
    const { grants } = service.app.store;
    conforms('post', TOKEN, await failing(grants, 'rotate', () => service.refresh(own, refresh_token)));
    for (let i = 0; i < 30; i++) conforms('post', TOKEN, await service.refresh(own, 'forged'));
  });

  test('revoke: success and every refusal', async () => {
    const own = await service.createClient();
    const { refresh_token } = await service.tokens(own, visitor);
    validate({ token: refresh_token }, 'components', 'schemas', 'Revocation');
    conforms('post', REVOKE, await service.revoke(own, ''));
    conforms('post', REVOKE, await service.revoke(own, 'x', { client_secret: 'wrong' }));
    conforms('post', REVOKE, await service.post(REVOKE, tooLarge));
    const { grants } = service.app.store;
    conforms('post', REVOKE, await failing(grants, 'revoke', () => service.revoke(own, refresh_token)));
    for (let i = 0; i < 30; i++) conforms('post', REVOKE, await service.revoke(own, refresh_token));
  });

  test('userinfo: every scope, no token, a wrong one, a failure', async () => {
    const own = await service.createClient();
    for (const scope of ['profile', 'email', 'profile email']) {
      const { access_token } = await service.tokens(own, visitor, { scope });
      conforms('get', '/oauth/userinfo', await service.userinfo(access_token));
    }
    conforms('get', '/oauth/userinfo', await service.get('/oauth/userinfo'));
    conforms('get', '/oauth/userinfo', await service.userinfo('forged'));
    const { access_token } = await service.tokens(own, visitor);
    const { grants } = service.app.store;
    conforms(
      'get',
      '/oauth/userinfo',
      await failing(grants, 'readAccess', () => service.userinfo(access_token)),
    );
  });

  test('authorize: screen, page, failure, and every redirect that has an example', async () => {
    const path = authorizePath(client, newVerifier(), { state: 'xyz' });
    conforms('get', '/oauth/authorize', await visitor.get(path));
    conforms('get', '/oauth/authorize', await service.get(path));
    conforms('get', '/oauth/authorize', await service.get('/oauth/authorize'));
    const { applications } = service.app.store;
    conforms('get', '/oauth/authorize', await failing(applications, 'find', () => service.get(path)));

    const redirects: Record<string, string> = {
      success: await visitor.allow(path),
      access_denied: await visitor.decide(path, 'deny'),
    };
    const wrong = {
      invalid_request: { code_challenge_method: 'plain' },
      invalid_scope: { scope: 'openid' },
      unsupported_response_type: { response_type: 'token' },
    };
    for (const [error, change] of Object.entries(wrong)) {
      const answer = await service.get(authorizePath(client, newVerifier(), { state: 'xyz', ...change }));
      conforms('get', '/oauth/authorize', answer);
      redirects[error] = answer.headers.get('location')!;
    }
    const examples = operationAt('get', '/oauth/authorize').responses['303']!.headers!.Location!.examples!;
    assert.deepEqual(Object.keys(examples).toSorted(), Object.keys(redirects).toSorted());
    for (const [name, { value }] of Object.entries(examples)) {
      const [shown, real] = [new URL(value as string), new URL(redirects[name]!)].map((url) =>
        Object.fromEntries(url.searchParams),
      );
      const { fixed: _registered, ...rest } = real!;
      const own = { iss: '', code: '', error_uri: '' };
      assert.deepEqual({ ...rest, ...own }, { ...shown, ...own });
      assert.equal('error_uri' in rest, name !== 'success', 'an error says where its reason can be read');
    }
  });

  test('a wrong method is 405 with Allow, as the description says', async () => {
    const answer = await service.get(TOKEN);
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'POST');
    assert.equal(answer.body.error_description, METHOD_NOT_ALLOWED);
  });

  test('nothing is described that was not met', () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      (Object.values(item) as Operation[]).flatMap(({ responses }) =>
        Object.entries(responses).flatMap(([status, { content }]) => {
          const names = Object.keys(content?.['application/json']?.examples ?? {});
          const errors = Number(status) < 400 ? [] : names.map((name) => `${path} ${status} ${name}`);
          return [`${path} ${status}`, ...errors];
        }),
      ),
    );
    assert.deepEqual(
      described.filter((one) => !met.has(one)),
      [],
    );
  });
});
