import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { connect, somebody } from '../support/connected.ts';
import { rawRequest } from '../support/raw-request.ts';
import {
  assertError,
  assertInvalidClient,
  assertInvalidGrant,
  assertInvalidRequest,
  assertNotCached,
  assertRevoked,
  assertTokens,
  assertTokensWork,
  basic,
} from '../support/responses.ts';
import { exchangeForm, type Reply, refreshForm, Service } from '../support/service.ts';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(() => service.stop());

const FORM = 'Content-Type: application/x-www-form-urlencoded';
const JSON_TYPE = 'Content-Type: application/json';

type Form = Readonly<Record<string, string>>;
/** A request that would succeed, and a check that it has had no effect yet. */
type Subject = { readonly path: string; readonly form: Form; readonly assertUntouched: () => Promise<void> };

const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  async exchange() {
    const client = await service.createClient();
    const issued = await service.authorize(client, await somebody(service));
    return {
      path: '/oauth/token',
      form: exchangeForm(client, issued),
      assertUntouched: async () => void assertTokens(await service.exchange(client, issued)),
    };
  },
  async refresh() {
    const { client, tokens } = await connect(service);
    return {
      path: '/oauth/token',
      form: refreshForm(client, tokens.refresh_token),
      assertUntouched: async () => void (await assertTokensWork(service, client, tokens)),
    };
  },
  async revoke() {
    const { client, tokens } = await connect(service);
    const { clientId: client_id, clientSecret: client_secret } = client;
    return {
      path: '/oauth/revoke',
      form: { token: tokens.refresh_token, client_id, client_secret },
      assertUntouched: async () => void (await assertTokensWork(service, client, tokens)),
    };
  },
};

const encoded = (form: Form): string => new URLSearchParams(form).toString();
const post = (path: string, type: string, body: string | Buffer): Promise<Reply> =>
  rawRequest(service, [`POST ${path} HTTP/1.1`, ...(type ? [type] : [])], body);

type Spoilt = readonly [type: string, body: string | Buffer];

/** The form with unknown parameters up to this number in total. */
const padded = (form: Form, count: number): Form => ({
  ...form,
  ...Object.fromEntries(Array.from({ length: count - Object.keys(form).length }, (_, i) => [`x${i}`, 'y'])),
});

/** Malformed bodies: each would succeed without the fault in its name. */
const malformed: Readonly<Record<string, (form: Form) => Spoilt>> = {
  'an unknown parameter twice': (form) => [FORM, `${encoded(form)}&x=1&x=2`],
  'an empty parameter twice': (form) => [FORM, `${encoded(form)}&x=&x=`],
  'broken percent-encoding': (form) => [FORM, `${encoded(form)}&x=%zz`],
  'percent-encoding that ends early': (form) => [FORM, `${encoded(form)}&x=%4`],
  'percent-encoded bytes that are not UTF-8': (form) => [FORM, `${encoded(form)}&x=%FF`],
  'a name that is not UTF-8': (form) => [FORM, `${encoded(form)}&%FF=x`],
  'raw bytes that are not UTF-8': (form) => [FORM, Buffer.from(`${encoded(form)}&x=\xff`, 'latin1')],
  'a content type of another kind': (form) => ['Content-Type: text/plain', encoded(form)],
  'a multipart form': (form) => ['Content-Type: multipart/form-data; boundary=x', encoded(form)],
  'no content type': (form) => ['', encoded(form)],
  'an empty content type': (form) => ['Content-Type:', encoded(form)],
  'a malformed content type': (form) => ['Content-Type: ;;', encoded(form)],
  'half a content type': (form) => ['Content-Type: application', encoded(form)],
  'two content types in one': (form) => [`${FORM}, text/plain`, encoded(form)],
  'a form said to be JSON': (form) => [JSON_TYPE, encoded(form)],
  'JSON said to be a form': (form) => [FORM, JSON.stringify(form)],
  'JSON that ends early': (form) => [JSON_TYPE, JSON.stringify(form).slice(0, -1)],
  'JSON with something after it': (form) => [JSON_TYPE, `${JSON.stringify(form)}{}`],
  'JSON with a byte order mark': (form) => [JSON_TYPE, `\ufeff${JSON.stringify(form)}`],
  'JSON that is a list': (form) => [JSON_TYPE, JSON.stringify([form])],
  'JSON that is a string': (form) => [JSON_TYPE, JSON.stringify(encoded(form))],
  'JSON that is null': () => [JSON_TYPE, 'null'],
  'JSON with a number': (form) => [JSON_TYPE, JSON.stringify({ ...form, x: 1 })],
  'JSON with a boolean': (form) => [JSON_TYPE, JSON.stringify({ ...form, x: true })],
  'JSON with null': (form) => [JSON_TYPE, JSON.stringify({ ...form, x: null })],
  'JSON with a list': (form) => [JSON_TYPE, JSON.stringify({ ...form, x: ['y'] })],
  'JSON with an object': (form) => [JSON_TYPE, JSON.stringify({ ...form, x: { y: 'z' } })],
  'JSON with a name twice': (form) => [JSON_TYPE, `{"x":"1","x":"1",${JSON.stringify(form).slice(1)}`],
  'JSON with a name twice, once escaped': (form) => [
    JSON_TYPE,
    `{"x":"1","\\u0078":"1",${JSON.stringify(form).slice(1)}`,
  ],
  'JSON with half a character': (form) => [JSON_TYPE, `{"x":"\\ud800",${JSON.stringify(form).slice(1)}`],
  'JSON that is not UTF-8': (form) => [
    JSON_TYPE,
    Buffer.from(`{"x":"\xff",${JSON.stringify(form).slice(1)}`, 'latin1'),
  ],
  'JSON in UTF-16': (form) => [JSON_TYPE, Buffer.from(JSON.stringify(form), 'utf16le')],
  'JSON all under __proto__': (form) => [JSON_TYPE, `{"__proto__":${JSON.stringify(form)}}`],
  'JSON all under one name': (form) => [JSON_TYPE, JSON.stringify({ body: form })],
  'JSON nested without end': () => [JSON_TYPE, '['.repeat(60_000)],
  'objects nested without end': () => [JSON_TYPE, '{"a":'.repeat(12_000)],
  'a body said to be compressed': (form) => [
    `Content-Encoding: gzip\r\n${JSON_TYPE}`,
    `\x1f\x8b${JSON.stringify(form)}`,
  ],
  'a thousand parameters and one': (form) => [FORM, encoded(padded(form, 1_001))],
  'a thousand parameters and one in JSON': (form) => [JSON_TYPE, JSON.stringify(padded(form, 1_001))],
  'no body': () => [FORM, ''],
  'a body of separators': () => [FORM, '&&&=&&'],
};

for (const [name, create] of Object.entries(subjects)) {
  describe(`${name}: invalid_request, and nothing changes`, () => {
    for (const [rule, spoil] of Object.entries(malformed)) {
      test(rule, async () => {
        const { path, form, assertUntouched } = await create();
        const [type, body] = spoil(form);
        assertInvalidRequest(await post(path, type, body));
        await assertUntouched();
      });
    }

    test('any parameter repeated, with the same value or another', async () => {
      const { path, form, assertUntouched } = await create();
      for (const [parameter, value] of Object.entries(form)) {
        const again = new URLSearchParams({ [parameter]: value });
        assertInvalidRequest(await post(path, FORM, `${encoded(form)}&${again}`));
        assertInvalidRequest(await post(path, FORM, `${parameter}=x&${encoded(form)}`));
      }
      await assertUntouched();
    });

    test('any parameter that is not a string in JSON', async () => {
      const { path, form, assertUntouched } = await create();
      for (const [parameter, value] of Object.entries(form)) {
        for (const wrong of [[value], { value }]) {
          assertInvalidRequest(await post(path, JSON_TYPE, JSON.stringify({ ...form, [parameter]: wrong })));
        }
      }
      await assertUntouched();
    });
  });

  describe(`${name}: unusual but valid`, () => {
    const right: Readonly<Record<string, (form: Form) => Spoilt>> = {
      'separators too many': (form) => [FORM, `&&${encoded(form)}&&`],
      'every character percent-encoded': (form) => [FORM, encodeAll(form)],
      'parameters that every object has': (form) => [
        FORM,
        `${encoded(form)}&__proto__=x&constructor=y&toString=z`,
      ],
      'parameters that every object has, in JSON': (form) => [
        JSON_TYPE,
        `{"__proto__":"x","constructor":"y",${JSON.stringify(form).slice(1)}`,
      ],
      'unknown parameters with a NUL and beyond ASCII': (form) => [
        FORM,
        `${encoded(form)}&x=%00&y=%F0%9F%98%80&é=ü`,
      ],
      'names that are not ours in brackets': (form) => [FORM, `${encoded(form)}&client_id[]=x&code[a]=y`],
      'JSON with spaces and escapes': (form) => [
        JSON_TYPE,
        ` ${JSON.stringify(form, null, 8).replaceAll('_', '\\u005f')}\n`,
      ],
      'a charset': (form) => [`${FORM}; charset=UTF-8`, encoded(form)],
      'a content type in capitals': (form) => ['Content-Type: APPLICATION/JSON', JSON.stringify(form)],
      'a thousand parameters': (form) => [FORM, encoded(padded(form, 1_000))],
      'a thousand parameters in JSON': (form) => [JSON_TYPE, JSON.stringify(padded(form, 1_000))],
      'a body of exactly 64 KiB': (form) => [FORM, `${encoded(form)}&x=`.padEnd(64 * 1024, 'x')],
    };
    for (const [rule, dress] of Object.entries(right)) {
      test(rule, async () => {
        const { path, form } = await create();
        const [type, body] = dress(form);
        const response = await post(path, type, body);
        assert.equal(response.status, 200, response.text);
      });
    }
  });

  describe(`${name}: 413, and nothing changes`, () => {
    test('a body of 64 KiB and one byte', async () => {
      const { path, form, assertUntouched } = await create();
      for (const [type, body] of [
        [FORM, `${encoded(form)}&x=`.padEnd(64 * 1024 + 1, 'x')],
        [JSON_TYPE, JSON.stringify(form).padEnd(64 * 1024 + 1)],
        ['Content-Type: text/plain', 'x'.repeat(64 * 1024 + 1)],
      ] as const) {
        assertError(await post(path, type, body), 413, 'invalid_request');
      }
      await assertUntouched();
    });

    test('a chunked body without a length', async () => {
      const { path, form, assertUntouched } = await create();
      const head = [`POST ${path} HTTP/1.1`, FORM, 'Transfer-Encoding: chunked'];
      const response = await rawRequest(service, head, `${encoded(form)}&x=`.padEnd(70_000, 'x'));
      assertError(response, 413, 'invalid_request');
      await assertUntouched();
    });

    test('an absurd Content-Length', async () => {
      const { path, assertUntouched } = await create();
      const head = [`POST ${path} HTTP/1.1`, FORM, 'Content-Length: 999999999999'];
      assertError(await rawRequest(service, head), 413, 'invalid_request');
      await assertUntouched();
    });
  });
}

describe('at the address of a page, an unreadable request gets a page that repeats no input', () => {
  function assertPage(response: Reply, status: number): void {
    assert.equal(response.status, status, response.text);
    assert.match(response.headers.get('content-type')!, /^\s*text\/html/);
    assert.match(response.headers.get('content-security-policy')!, /default-src 'none'/);
    assert.match(response.text, /<h1>This could not be taken<\/h1>/);
    assert.doesNotMatch(response.text, /MARK4711/);
    assertNotCached(response);
  }

  for (const path of ['/login', '/logout', '/signup', '/oauth/authorize', '/account/profile']) {
    test(`POST ${path} with a body of 64 KiB and one byte: 413`, async () => {
      assertPage(await post(path, FORM, 'x=MARK4711'.padEnd(64 * 1024 + 1, 'x')), 413);
    });

    test(`${path} with a suffix that cannot be decoded: 400`, async () => {
      assertPage(await rawRequest(service, [`GET ${path}/%ZZMARK4711 HTTP/1.1`]), 400);
    });
  }
});

const encodeAll = (form: Form): string => {
  const bytes = (text: string) =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  return Object.entries(form)
    .map(([name, value]) => `${bytes(name)}=${bytes(value)}`)
    .join('&');
};

describe('a NUL', () => {
  test('in a parameter makes it a different value, never a server error', async () => {
    const { path, form, assertUntouched } = await subjects.exchange!();
    for (const [parameter, assertRefused] of [
      ['code', assertInvalidGrant],
      ['redirect_uri', assertInvalidGrant],
      ['code_verifier', assertInvalidGrant],
      ['client_id', assertInvalidClient],
      ['client_secret', assertInvalidClient],
    ] as const) {
      for (const value of [`${form[parameter]}\0`, `\0${form[parameter]}`, '\0']) {
        assertRefused(await post(path, FORM, encoded({ ...form, [parameter]: value })));
        assertRefused(await post(path, JSON_TYPE, JSON.stringify({ ...form, [parameter]: value })));
      }
    }
    await assertUntouched();
  });
});

describe('a method that is not allowed: 405 with Allow', () => {
  const paths: readonly (readonly [string, string])[] = [
    ['/oauth/token', 'POST'],
    ['/oauth/revoke', 'POST'],
    ['/oauth/userinfo', 'GET, HEAD'],
    ['/oauth/authorize', 'GET, HEAD, POST'],
  ];
  const unusual = [
    'OPTIONS',
    'PUT',
    'PATCH',
    'DELETE',
    'TRACE',
    'PROPFIND',
    'LOCK',
    'SEARCH',
    'LINK',
    'PURGE',
    'QUERY',
  ];
  for (const [path, allow] of paths) {
    for (const method of [...unusual, ...['GET', 'HEAD', 'POST'].filter((one) => !allow.includes(one))]) {
      test(`${method} ${path}`, async () => {
        const response = await rawRequest(service, [`${method} ${path}?x=y HTTP/1.1`]);
        assert.equal(response.status, 405, response.text);
        assert.equal(response.headers.get('allow'), allow);
        assertNotCached(response);
        if (method !== 'HEAD') assertError(response, 405, 'invalid_request');
      });
    }
  }

  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY']) {
    test(`${method}: the method is checked before the body`, async () => {
      for (const [head, body] of [
        [[], 'x'],
        [['Content-Type: ;;'], 'x'],
        [[FORM], 'x'.repeat(70_000)],
      ] as const) {
        const response = await rawRequest(service, [`${method} /oauth/token HTTP/1.1`, ...head], body);
        assertError(response, 405, 'invalid_request');
        assert.equal(response.headers.get('allow'), 'POST');
      }
    });
  }

  test('HEAD of the token endpoint', async () => {
    const { path, form, assertUntouched } = await subjects.exchange!();
    const response = await rawRequest(service, [`HEAD ${path} HTTP/1.1`, FORM], encoded(form));
    assert.equal(response.status, 405);
    await assertUntouched();
  });

  test('a method override is ignored', async () => {
    const { path, form, assertUntouched } = await subjects.revoke!();
    const head = [`PUT ${path}?_method=POST HTTP/1.1`, FORM, 'X-HTTP-Method-Override: POST'];
    assertError(await rawRequest(service, head, encoded(form)), 405, 'invalid_request');
    await assertUntouched();
  });
});

describe('headers that no client would send are refused, never with a 5xx', () => {
  const heads: Readonly<Record<string, readonly string[]>> = {
    'a method that does not exist': ['FOO /oauth/token HTTP/1.1'],
    'a header of 100 kB': ['POST /oauth/token HTTP/1.1', `X-Large: ${'x'.repeat(100_000)}`],
    'an Authorization header of 100 kB': [
      'GET /oauth/userinfo HTTP/1.1',
      `Authorization: Bearer ${'x'.repeat(100_000)}`,
    ],
    'five thousand headers': [
      'POST /oauth/token HTTP/1.1',
      ...Array.from({ length: 5000 }, (_, i) => `X-${i}: y`),
    ],
    'an address of 100 kB': [`POST /oauth/token?${'x'.repeat(100_000)} HTTP/1.1`],
    'a cookie of 100 kB': ['GET /oauth/authorize HTTP/1.1', `Cookie: a=${'x'.repeat(100_000)}`],
    'a length and pieces at once': [
      'POST /oauth/token HTTP/1.1',
      'Transfer-Encoding: chunked',
      'Content-Length: 3',
    ],
    'two lengths': ['POST /oauth/token HTTP/1.1', 'Content-Length: 3', 'Content-Length: 4'],
    'a length below zero': ['POST /oauth/token HTTP/1.1', 'Content-Length: -1'],
    'an expectation of something else': ['POST /oauth/token HTTP/1.1', 'Expect: something'],
    'a version that does not exist': ['POST /oauth/token HTTP/9.9'],
    'an address that cannot be decoded': ['POST /oauth/%ZZ HTTP/1.1'],
    'an address beyond ASCII': ['POST /oauth/\xff\xfe HTTP/1.1'],
  };
  for (const [rule, head] of Object.entries(heads)) {
    test(rule, async () => {
      const { status } = await rawRequest(service, head);
      assert.ok(status >= 400 && status < 500, `${status}`);
      assert.equal((await service.get('/health')).status, 200);
    });
  }

  test('a header just within the limit is read', async () => {
    const { status } = await rawRequest(service, [
      'GET /oauth/userinfo HTTP/1.1',
      `Authorization: Bearer ${'x'.repeat(15_000)}`,
    ]);
    assert.equal(status, 401);
  });
});

describe('random input gets an error in JSON, never a 5xx', () => {
  let open: Service;
  before(async () => {
    open = await Service.start({ POSTERN_RATE_LIMIT: '1000000' });
  });
  after(() => open.stop());

  const type = fc.constantFrom(
    'application/x-www-form-urlencoded',
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'multipart/form-data',
    '',
  );
  const path = fc.constantFrom('/oauth/token', '/oauth/revoke');
  const parameter = fc.constantFrom(
    'grant_type',
    'code',
    'client_id',
    'client_secret',
    'redirect_uri',
    'code_verifier',
    'refresh_token',
    'scope',
    'token',
    'token_type_hint',
    '__proto__',
  );
  const text = fc.oneof(
    fc.constantFrom('authorization_code', 'refresh_token', 'profile email', '', '\0', '%', '\ud83d\ude00'),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
  );

  function assertAnswered(response: Reply): void {
    assert.ok(response.status < 500, `${response.status} ${response.text}`);
    assert.ok(typeof response.body.error === 'string' || response.body.revoked === true, response.text);
    assertNotCached(response);
  }

  test('random bytes', async () => {
    await fc.assert(
      fc.asyncProperty(path, type, fc.uint8Array({ maxLength: 300 }), async (to, contentType, bytes) => {
        const headers = contentType ? { 'content-type': contentType } : undefined;
        assertAnswered(await open.send(to, { method: 'POST', body: bytes, ...(headers && { headers }) }));
      }),
      { numRuns: 200 },
    );
  });

  test('random JSON', async () => {
    await fc.assert(
      fc.asyncProperty(path, fc.json({ maxDepth: 4 }), async (to, body) => {
        const headers = { 'content-type': 'application/json' };
        assertAnswered(await open.send(to, { method: 'POST', body, headers }));
      }),
      { numRuns: 150 },
    );
  });

  test('random Authorization headers', async () => {
    const header = fc.oneof(
      fc.base64String({ maxLength: 60 }).map((credentials) => `Basic ${credentials}`),
      fc.string({ unit: fc.constantFrom(...'Basic earr:=%+/ \t"\\'), maxLength: 30 }),
    );
    await fc.assert(
      fc.asyncProperty(path, header, async (to, authorization) => {
        assertAnswered(
          await open.post(
            to,
            { grant_type: 'refresh_token', refresh_token: 'x', token: 'x' },
            { authorization },
          ),
        );
      }),
      { numRuns: 100 },
    );
  });

  test('random values from an authenticated application do not affect its tokens', async () => {
    const { client, tokens } = await connect(open);
    const authorization = basic(client.clientId, client.clientSecret);
    const values = fc.oneof(
      text,
      fc.nat({ max: 80 }).map((length) => tokens.refresh_token.slice(0, length)),
      fc.constantFrom('x', ' ').map((tail) => tokens.refresh_token + tail),
    );
    const form = fc.dictionary(
      parameter.filter((name) => !name.startsWith('client_')),
      values,
      { noNullPrototype: true },
    );
    await fc.assert(
      fc.asyncProperty(path, form, async (to, sent) => {
        assertAnswered(await open.post(to, sent, { authorization }));
      }),
      { numRuns: 250 },
    );
    assert.equal((await open.userinfo(tokens.access_token)).status, 200);
    assertTokens(await open.refresh(client, tokens.refresh_token));
  });

  test('random credentials never authenticate', async () => {
    await fc.assert(
      fc.asyncProperty(path, fc.dictionary(parameter, text, { noNullPrototype: true }), async (to, sent) => {
        const response = await open.post(to, sent);
        assertAnswered(response);
        assert.ok(response.status >= 400, response.text);
      }),
      { numRuns: 150 },
    );
  });
});

test('a valid revocation works in the same service', async () => {
  const { client, tokens } = await connect(service);
  assertRevoked(await service.revoke(client, tokens.refresh_token));
});
