import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { METHOD_NOT_ALLOWED } from '../../src/protocol/errors.ts';
import type { ApiDocument, Operation, Response } from '../../src/protocol/openapi-document.ts';
import { DatabaseUnavailable } from '../../src/store/errors.ts';
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

type Method = 'get' | 'post';
type OperationName = (typeof OPERATIONS)[number];

let service: Service;
let client: TestClient;
let visitor: Visitor;
let document: ApiDocument;
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
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

/** The real responses of one operation, compared with the document. */
class OperationCheck {
  readonly #method: Method;
  readonly #path: string;
  readonly #operation: Operation;
  /** Documented statuses and error examples, `401` and `401 invalid_client`, that no response has had yet. */
  readonly #unmet: Set<string>;

  constructor(name: OperationName) {
    const [method, path] = name.split(' ') as [Method, string];
    const operation = document.paths[path]?.[method];
    assert.ok(operation, `${name} is not described`);
    this.#method = method;
    this.#path = path;
    this.#operation = operation;
    this.#unmet = new Set(
      Object.entries(operation.responses).flatMap(([status, { content }]) => {
        const examples = Object.keys(content?.['application/json']?.examples ?? {});
        return [status, ...(Number(status) < 400 ? [] : examples.map((example) => `${status} ${example}`))];
      }),
    );
  }

  /** Status, headers, content type and body are as described. */
  conforms(reply: Reply): void {
    const status = String(reply.status);
    const response = this.#operation.responses[status];
    assert.ok(response, `${this.#method} ${this.#path} returned ${status}: ${reply.text}`);
    this.#unmet.delete(status);
    const index = ['paths', this.#path, this.#method, 'responses', status];
    for (const [name, { required, schema }] of Object.entries(response.headers ?? {})) {
      const text = reply.headers.get(name);
      assert.ok(text !== null || !required, `${this.#path} ${status} lacks ${name}`);
      const value = schema.type === 'integer' ? Number(text) : text;
      if (text !== null) validate(value, ...index, 'headers', name, 'schema');
    }
    const type = reply.headers.get('content-type')?.split(';')[0];
    const media = type && response.content?.[type];
    if (!response.content) {
      assert.equal(reply.text, '');
      return;
    }
    assert.ok(media, `${this.#path} ${status} came as ${type}`);
    validate(type === 'application/json' ? reply.body : reply.text, ...index, 'content', type, 'schema');
    if (type === 'application/json') this.#hasNothingElse(response, reply);
  }

  /** Every documented status and error example was met. */
  complete(): void {
    assert.deepEqual([...this.#unmet], [], `documented for ${this.#method} ${this.#path}, but not met`);
  }

  /** The document has every field of the body, and the error with these words among its examples. */
  #hasNothingElse(response: Response, reply: Reply): void {
    const { schema, examples = {} } = response.content!['application/json']!;
    const { properties = {} } = document.components.schemas[schema.$ref!.split('/').at(-1)!]!;
    assert.deepEqual(
      Object.keys(reply.body).filter((name) => !(name in properties)),
      [],
    );
    if (reply.status < 400) return;
    // error_uri differs from request to request, and only the endpoints with a request log have it.
    const { error_uri: uri, ...rest } = reply.body;
    const logged = this.#path === '/oauth/token' || this.#path === '/oauth/revoke';
    const id = logged ? reply.headers.get('x-request-id') : undefined;
    assert.equal(uri, id && `${service.url}/errors/${id}`);
    const example = Object.entries(examples).find(
      ([, { value }]) => JSON.stringify(value) === JSON.stringify(rest),
    );
    assert.ok(example, `${this.#path} ${reply.status} has no such example: ${reply.text}`);
    this.#unmet.delete(`${reply.status} ${example[0]}`);
  }
}

const AWAY = new DatabaseUnavailable('made to be away');

/** Makes one method of the store fail during `request`. */
async function failing<T extends object, K extends keyof T>(
  part: T,
  method: K,
  request: () => Promise<Reply>,
  error = new Error('made to fail'),
): Promise<Reply> {
  const original = part[method];
  part[method] = (() => Promise.reject(error)) as T[K];
  try {
    return await request();
  } finally {
    part[method] = original;
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

test('the document has the endpoints of the metadata and no other', async () => {
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

/** Each has a test below that meets everything documented for it. */
const OPERATIONS = [
  'get /oauth/authorize',
  'post /oauth/token',
  'post /oauth/revoke',
  'get /oauth/userinfo',
] as const;

describe('real responses are as documented, and every documented status and error occurs', () => {
  const tooLarge = { token: 'x'.repeat(65 * 1024) };

  test('every operation has a test', () => {
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    assert.deepEqual(documented.toSorted(), OPERATIONS.toSorted());
  });

  test('POST /oauth/token', async () => {
    const token = new OperationCheck('post /oauth/token');
    const own = await service.createClient();
    const form = exchangeForm(own, await service.authorize(own, visitor, { scope: 'email' }));
    validate(form, 'components', 'schemas', 'CodeExchange');
    const issued = await service.post(TOKEN, form);
    token.conforms(issued);
    const next = refreshForm(own, issued.body.refresh_token as string);
    validate(next, 'components', 'schemas', 'Refresh');
    const headers = { 'content-type': 'application/json' };
    const renewed = await service.send(TOKEN, { method: 'POST', body: JSON.stringify(next), headers });
    assert.equal(renewed.status, 200);
    token.conforms(renewed);
    const refreshToken = renewed.body.refresh_token as string;

    token.conforms(await service.post(TOKEN, {}));
    token.conforms(await service.refresh(own, 'forged'));
    token.conforms(await service.refresh(own, 'x', { grant_type: 'password' }));
    token.conforms(await service.refresh(own, refreshToken, { scope: 'profile' }));
    token.conforms(await service.refresh(own, 'x', { client_secret: 'wrong' }));
    token.conforms(await service.post(TOKEN, tooLarge));
    const { grants } = service.app.store;
    token.conforms(await failing(grants, 'rotate', () => service.refresh(own, refreshToken)));
    token.conforms(await failing(grants, 'rotate', () => service.refresh(own, refreshToken), AWAY));
    // The first refresh token again: it was used.
    token.conforms(await service.post(TOKEN, next));
    for (let i = 0; i < 30; i++) token.conforms(await service.refresh(own, 'forged'));
    token.complete();
  });

  test('POST /oauth/revoke', async () => {
    const revoke = new OperationCheck('post /oauth/revoke');
    const own = await service.createClient();
    const { refresh_token } = await service.tokens(own, visitor);
    validate({ token: refresh_token }, 'components', 'schemas', 'Revocation');
    revoke.conforms(await service.revoke(own, ''));
    revoke.conforms(await service.revoke(own, 'x', { client_secret: 'wrong' }));
    revoke.conforms(await service.post(REVOKE, tooLarge));
    const { grants } = service.app.store;
    revoke.conforms(await failing(grants, 'revoke', () => service.revoke(own, refresh_token)));
    revoke.conforms(await failing(grants, 'revoke', () => service.revoke(own, refresh_token), AWAY));
    for (let i = 0; i < 30; i++) revoke.conforms(await service.revoke(own, refresh_token));
    revoke.complete();
  });

  test('GET /oauth/userinfo', async () => {
    const userinfo = new OperationCheck('get /oauth/userinfo');
    const own = await service.createClient();
    for (const scope of ['profile', 'email', 'profile email']) {
      const { access_token } = await service.tokens(own, visitor, { scope });
      userinfo.conforms(await service.userinfo(access_token));
    }
    userinfo.conforms(await service.get('/oauth/userinfo'));
    userinfo.conforms(await service.userinfo('forged'));
    const { access_token } = await service.tokens(own, visitor);
    const { grants } = service.app.store;
    userinfo.conforms(await failing(grants, 'readAccess', () => service.userinfo(access_token)));
    userinfo.conforms(await failing(grants, 'readAccess', () => service.userinfo(access_token), AWAY));
    userinfo.complete();
  });

  test('GET /oauth/authorize, with every redirect that has an example', async () => {
    const authorize = new OperationCheck('get /oauth/authorize');
    const path = authorizePath(client, newVerifier(), { state: 'xyz' });
    authorize.conforms(await visitor.get(path));
    authorize.conforms(await service.get(path));
    authorize.conforms(await service.get('/oauth/authorize'));
    const { applications } = service.app.store;
    authorize.conforms(await failing(applications, 'find', () => service.get(path)));
    authorize.conforms(await failing(applications, 'find', () => service.get(path), AWAY));

    const redirects: Record<string, string> = {
      success: await visitor.allow(path),
      access_denied: await visitor.decide(path, 'deny'),
    };
    const invalid = {
      invalid_request: { code_challenge_method: 'plain' },
      invalid_scope: { scope: 'openid' },
      unsupported_response_type: { response_type: 'token' },
    };
    for (const [error, change] of Object.entries(invalid)) {
      const response = await visitor.get(authorizePath(client, newVerifier(), { state: 'xyz', ...change }));
      authorize.conforms(response);
      redirects[error] = response.headers.get('location')!;
    }
    authorize.complete();
    const { examples = {} } = document.paths['/oauth/authorize']!.get!.responses['303']!.headers!.Location!;
    assert.deepEqual(Object.keys(examples).toSorted(), Object.keys(redirects).toSorted());
    for (const [name, { value }] of Object.entries(examples)) {
      const [shown, real] = [new URL(value as string), new URL(redirects[name]!)].map((url) =>
        Object.fromEntries(url.searchParams),
      );
      const { fixed: _registered, ...rest } = real!;
      const differing = { iss: '', code: '', error_uri: '' };
      assert.deepEqual({ ...rest, ...differing }, { ...shown, ...differing });
      assert.equal('error_uri' in rest, name !== 'success', 'only an error has an error_uri');
    }
  });

  test('a wrong method is 405 with Allow, as the description says', async () => {
    const response = await service.get(TOKEN);
    assert.equal(response.status, 405);
    assert.equal(response.headers.get('allow'), 'POST');
    assert.equal(response.body.error_description, METHOD_NOT_ALLOWED);
  });
});
