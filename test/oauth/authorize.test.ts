import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newClientSecret } from '../../src/protocol/client-secret.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import { somebody } from '../support/connected.ts';
import { rawRequest } from '../support/raw-request.ts';
import { assertInvalidToken, assertNotCached, assertTokens, assertTokensWork } from '../support/responses.ts';
import {
  authorizePath,
  challengeOf,
  HOUR,
  hiddenFields,
  MINUTE,
  newVerifier,
  REDIRECT_URI,
  type Reply,
  Service,
  type TestClient,
  Visitor,
} from '../support/service.ts';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(() => service.stop());

const ISS = 'iss=http%3A%2F%2Fpostern.test';

/** The error_description that the application receives: one fixed sentence per error. */
const DESCRIPTIONS = {
  invalid_request: 'A+required+parameter+is+missing%2C+repeated+or+malformed.',
  invalid_scope: 'The+scope+is+unknown+or+goes+beyond+what+was+granted.',
  unsupported_response_type: 'The+response_type+must+be+code.',
  access_denied: 'The+user+refused+the+request.',
} as const;

/** The request id in error_uri, different each time. */
const WHY = 'error_uri=http%3A%2F%2Fpostern.test%2Ferrors%2FID';
const withoutId = (location: string): string => location.replace(ID, 'ID');
const ID = /(?<=&error_uri=http%3A%2F%2Fpostern\.test%2Ferrors%2F)[0-9a-z]{23}(?=&iss=)/;

const errorPairs = (error: keyof typeof DESCRIPTIONS): string =>
  `error=${error}&error_description=${DESCRIPTIONS[error]}&${WHY}&${ISS}`;

/** A valid query of raw pairs with changes; undefined leaves a pair out. */
function rawPath(client: TestClient, changes: Record<string, string | undefined> = {}, more = ''): string {
  const pairs = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: encodeURIComponent(client.redirectUri),
    code_challenge: challengeOf(newVerifier()),
    code_challenge_method: 'S256',
    ...changes,
  };
  const present = Object.entries(pairs).filter(([, value]) => value !== undefined);
  return `/oauth/authorize?${present.map(([name, value]) => `${name}=${value}`).join('&')}${more}`;
}

function assertPage(response: Reply, status: number): void {
  assert.equal(response.status, status, response.headers.get('location') ?? response.text);
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
  assert.equal(response.headers.get('location'), null);
  assert.equal(response.headers.get('refresh'), null);
  assert.doesNotMatch(response.text, /http-equiv/i);
  assertNotCached(response);
}

function assertRedirect(response: Reply, location: string): void {
  assert.equal(response.status, 303, response.text);
  assert.equal(withoutId(locationOf(response)), location);
  assertNotCached(response);
}

const locationOf = (response: Reply): string => response.headers.get('location') ?? '';
const codeIn = (location: string): string | null => new URL(location).searchParams.get('code');

/** The consent screen of a valid request, and its form. */
async function consent(
  visitor: Visitor,
  path: string,
): Promise<{ page: Reply; fields: Record<string, string> }> {
  const page = await visitor.get(path);
  assertPage(page, 200);
  return { page, fields: hiddenFields(page.text) };
}

const decide = (visitor: Visitor, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  visitor.post('/oauth/authorize', fields, headers);

const allow = (visitor: Visitor, fields: Record<string, string>): Promise<Reply> =>
  decide(visitor, { ...fields, decision: 'allow' });

/** Counts an application's grants in the database. */
async function grantsOf({ clientId }: TestClient): Promise<number> {
  const [row] = await service.rows(`SELECT count(*) AS grants FROM grants WHERE client_id = '${clientId}'`);
  return Number(row!.grants);
}

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** The part of the page for the developer: only text between the page's own tags. */
const SENT = /<dt>(client_id|redirect_uri), as received<\/dt><dd><code>([^<]*)<\/code><\/dd>/g;

/** Splits the sent values, shown in the developer's part, from the rest of the page, which must not contain them. */
function readSent({ text }: Reply): { sent: Map<string, string>; rest: string } {
  const details = /<details>[\s\S]*?<\/details>/.exec(text)?.[0] ?? '';
  const sent = new Map([...details.matchAll(SENT)].map(([, name, value]) => [name!, value!]));
  return { sent, rest: text.replace(details, () => details.replaceAll(SENT, '')) };
}

describe('an error page, never a redirect', () => {
  const encoded = encodeURIComponent(REDIRECT_URI);
  const requests: Record<string, (client: TestClient) => string> = {
    'without client_id': (client) => rawPath(client, { client_id: undefined }),
    'with an empty client_id': (client) => rawPath(client, { client_id: '' }),
    'with an unknown client_id': (client) => rawPath(client, { client_id: 'unknown' }),
    'with a client_id that differs in case': (client) =>
      rawPath(client, { client_id: client.clientId.toUpperCase() }),
    'with client_id twice, though the same': (client) => rawPath(client, {}, `&client_id=${client.clientId}`),
    'with client_id twice, once encoded': (client) => rawPath(client, {}, `&client%5fid=${client.clientId}`),
    'with a client_id that is not UTF-8': (client) => rawPath(client, { client_id: '%FF' }),
    'without redirect_uri, though only one is registered': (client) =>
      rawPath(client, { redirect_uri: undefined }),
    'with an empty redirect_uri': (client) => rawPath(client, { redirect_uri: '' }),
    'with redirect_uri twice, though the same': (client) => rawPath(client, {}, `&redirect_uri=${encoded}`),
    'with a redirect_uri that is not UTF-8': (client) => rawPath(client, { redirect_uri: `${encoded}%FF` }),
    'without anything': () => '/oauth/authorize',
  };
  for (const uri of [
    'https://evil.example/callback',
    'https://client.example/callback',
    'https://client.example/callback?fixed=a%20b&more=x',
    'https://client.example/callback?fixed=a+b',
    'https://client.example/callback?fixed=a b',
    'https://client.example/callback/?fixed=a%20b',
    'https://client.example/callback/../callback?fixed=a%20b',
    'https://client.example:443/callback?fixed=a%20b',
    'https://CLIENT.example/callback?fixed=a%20b',
    'https://client.example.evil.example/callback?fixed=a%20b',
    'https://client.example@evil.example/callback?fixed=a%20b',
    'http://client.example/callback?fixed=a%20b',
    `${REDIRECT_URI}#fragment`,
    ` ${REDIRECT_URI}`,
    `${REDIRECT_URI}\n`,
    'javascript:alert(1)',
    "https://evil.example/\"><script>alert(1)</script><a href='https://evil.example/'>&amp;</a></code></details>",
  ]) {
    const path = (client: TestClient) => rawPath(client, { redirect_uri: encodeURIComponent(uri) });
    requests[`with the unregistered redirect_uri ${JSON.stringify(uri)}`] = path;
    test(`shows the developer ${JSON.stringify(uri)} as it was sent, as text`, async () => {
      const client = await service.createClient();
      const { sent } = readSent(await (await somebody(service)).get(path(client)));
      assert.equal(sent.get('redirect_uri'), escaped(uri));
      assert.equal(sent.get('client_id'), client.clientId);
    });
  }
  for (const [rule, pathOf] of Object.entries(requests)) {
    test(rule, async () => {
      const client = await service.createClient();
      const visitor = await somebody(service);
      for (const more of ['', '&state=x&scope=unknown', '&x=1&x=2']) {
        const path = pathOf(client);
        const response = await visitor.get(path + (path.includes('?') ? more : ''));
        assertPage(response, 400);
        assert.doesNotMatch(readSent(response).rest, /evil\.example|client\.example|alert\(1\)/i);
        assert.doesNotMatch(response.headers.get('content-security-policy') ?? '', /evil|client/);
      }
      assertPage(await service.get(pathOf(client)), 400);
    });
  }

  test('for a disabled application, until enabled again', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    await service.app.store.applications.setDisabled(client.clientId, true, service.clock.ms);
    assertPage(await visitor.get(rawPath(client)), 400);
    assertPage(await visitor.get(rawPath(client, { response_type: 'token' })), 400);
    await service.app.store.applications.setDisabled(client.clientId, false, service.clock.ms);
    assertPage(await visitor.get(rawPath(client)), 200);
  });

  test('for the redirect_uri of another application', async () => {
    const client = await service.createClient();
    const other = await service.createClient({ redirectUris: ['https://other.example/'] });
    const path = rawPath(client, { redirect_uri: encodeURIComponent(other.redirectUri) });
    assertPage(await (await somebody(service)).get(path), 400);
  });
});

describe('every other error redirects to the application with error_description, iss and the state as sent', () => {
  const STATE = 'a%20b%2B+%FF%zz=&'.slice(0, -1);
  type Changes = Record<string, string | undefined>;
  const requests: readonly (readonly [string, keyof typeof DESCRIPTIONS, Changes, string?])[] = [
    ['a missing response_type', 'invalid_request', { response_type: undefined }],
    ['an empty response_type', 'invalid_request', { response_type: '' }],
    ['the response_type token', 'unsupported_response_type', { response_type: 'token' }],
    ['a response_type of two', 'unsupported_response_type', { response_type: 'code%20token' }],
    ['a missing code_challenge', 'invalid_request', { code_challenge: undefined }],
    ['an empty code_challenge', 'invalid_request', { code_challenge: '' }],
    ['a code_challenge of 42 characters', 'invalid_request', { code_challenge: 'a'.repeat(42) }],
    ['a code_challenge of 44 characters', 'invalid_request', { code_challenge: 'a'.repeat(44) }],
    ['a code_challenge in plain base64', 'invalid_request', { code_challenge: `${'a'.repeat(42)}%2B` }],
    ['a code_challenge with padding', 'invalid_request', { code_challenge: `${'a'.repeat(43)}%3D` }],
    ['the code_challenge_method plain', 'invalid_request', { code_challenge_method: 'plain' }],
    ['the code_challenge_method in lower case', 'invalid_request', { code_challenge_method: 's256' }],
    ['an unknown scope', 'invalid_scope', { scope: 'openid' }],
    ['an unknown scope beside a known one', 'invalid_scope', { scope: 'profile%20openid' }],
    ['a scope in capitals', 'invalid_scope', { scope: 'EMAIL' }],
    ['a parameter twice', 'invalid_request', {}, '&scope=email&scope=email'],
    ['an unknown parameter twice', 'invalid_request', {}, '&x=1&x=2'],
    ['a value that is not UTF-8', 'invalid_request', {}, '&x=%FF'],
    ['a name that is not UTF-8', 'invalid_request', {}, '&%FF=x'],
  ];
  for (const [rule, error, changes, more] of requests) {
    test(`${rule}: ${error}`, async () => {
      const client = await service.createClient();
      const visitor = await somebody(service);
      const response = await visitor.get(rawPath(client, { ...changes, state: STATE }, more));
      assertRedirect(response, `${REDIRECT_URI}&${errorPairs(error)}&state=${STATE}`);
      const stateless = await visitor.get(rawPath(client, changes, more));
      assertRedirect(stateless, `${REDIRECT_URI}&${errorPairs(error)}`);
      assert.equal(await grantsOf(client), 0);
    });
  }

  test('a scope that the application did not register: invalid_scope', async () => {
    const client = await service.createClient({ scope: 'email' });
    for (const scope of ['profile', 'email+profile']) {
      const response = await (await somebody(service)).get(rawPath(client, { scope, state: STATE }));
      assertRedirect(response, `${REDIRECT_URI}&${errorPairs('invalid_scope')}&state=${STATE}`);
    }
  });

  test('a repeated state is not sent back: invalid_request', async () => {
    const client = await service.createClient();
    const response = await (await somebody(service)).get(rawPath(client, { state: 'a' }, '&state=b'));
    assertRedirect(response, `${REDIRECT_URI}&${errorPairs('invalid_request')}`);
  });

  test('a state that no client library would send is returned unchanged, in one header', async () => {
    const client = await service.createClient();
    const { cookies } = await somebody(service);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    for (const state of [
      '"<>\\^`{|}',
      '%0d%0aSet-Cookie:%20a=b',
      "'();:@/?!$*,",
      '%00',
      '%',
      'a'.repeat(2000),
    ]) {
      const path = rawPath(client, { response_type: 'token', state });
      const response = await rawRequest(service, [`GET ${path} HTTP/1.1`, `Cookie: ${cookie}`]);
      assertRedirect(response, `${REDIRECT_URI}&${errorPairs('unsupported_response_type')}&state=${state}`);
      assert.equal(response.headers.get('set-cookie'), null);
    }
  });
});

describe('the registered redirect_uri is preserved byte for byte', () => {
  for (const [uri, joint] of [
    ['https://client.example', '?'],
    ['https://client.example/callback', '?'],
    ['https://client.example/callback?', ''],
    ['https://client.example/callback?a=%7e%7E+%20b&&c', '&'],
    ['https://client.example/callback?code=mine&state=mine', '&'],
    ['HTTPS://Client.Example:443/a/../b', '?'],
    ['http://localhost:4000/callback', '?'],
    ['http://[::1]:4000/callback', '?'],
  ] as const) {
    test(uri, async () => {
      const client = await service.createClient({ redirectUris: [uri] });
      const visitor = await somebody(service);
      const denied = await visitor.decide(rawPath(client, { state: 's' }), 'deny');
      assert.equal(withoutId(denied), `${uri}${joint}${errorPairs('access_denied')}&state=s`);
      const allowed = await visitor.allow(rawPath(client, { state: 's' }));
      assert.ok(allowed.startsWith(`${uri}${joint}code=postern_code_`), allowed);
      assert.ok(allowed.endsWith(`&${ISS}&state=s`), allowed);
    });
  }
});

describe('a code', () => {
  test('comes with iss and the state as sent, and nothing else', async () => {
    const client = await service.createClient();
    const state = 'a%20b%2B+%FF';
    const location = await (await somebody(service)).allow(rawPath(client, { state }));
    const code = codeIn(location);
    assert.match(code ?? '', /^postern_code_[A-Za-z0-9_-]+$/);
    assert.equal(location, `${REDIRECT_URI}&code=${code}&${ISS}&state=${state}`);
  });

  test('is issued with S256 when the method is absent', async () => {
    const client = await service.createClient();
    const verifier = newVerifier();
    const visitor = await somebody(service);
    for (const method of [undefined, '']) {
      const path = rawPath(client, { code_challenge: challengeOf(verifier), code_challenge_method: method });
      const code = codeIn(await visitor.allow(path))!;
      const asPlain = await service.exchange(client, { code, verifier: challengeOf(verifier) });
      assert.equal(asPlain.body.error, 'invalid_grant');
      assertTokens(await service.exchange(client, { code, verifier }));
    }
  });

  test('is bound to the redirect_uri of its request among those registered', async () => {
    const redirectUris = ['https://client.example/one', 'https://client.example/two'];
    const client = await service.createClient({ redirectUris });
    const verifier = newVerifier();
    const path = authorizePath(client, verifier, { redirect_uri: redirectUris[1]! });
    const location = await (await somebody(service)).allow(path);
    assert.ok(location.startsWith(`${redirectUris[1]}?`));
    const issued = { code: codeIn(location)!, verifier };
    assert.equal((await service.exchange(client, issued)).body.error, 'invalid_grant');
    assertTokens(await service.exchange(client, issued, { redirect_uri: redirectUris[1]! }));
  });

  test('is not issued for a GET with decision=allow', async () => {
    const client = await service.createClient();
    const response = await (await somebody(service)).get(rawPath(client, {}, '&decision=allow'));
    assertPage(response, 200);
    assert.equal(await grantsOf(client), 0);
  });

  test('is not issued for a POST of the authorization request', async () => {
    const client = await service.createClient();
    const query = new URL(rawPath(client), service.url).searchParams;
    const visitor = await somebody(service);
    const response = await visitor.post('/oauth/authorize', {
      ...Object.fromEntries(query),
      decision: 'allow',
    });
    assertPage(response, 403);
    assert.equal(await grantsOf(client), 0);
  });
});

describe('the scope', () => {
  for (const [rule, asked, granted] of [
    ['none asked for: what the application registered', undefined, 'profile email'],
    ['empty: what the application registered', '', 'profile email'],
    ['a part', 'email', 'email'],
    ['all, in another order', 'email+profile', 'profile email'],
    ['the same twice', 'email%20email', 'email'],
  ] as const) {
    test(rule, async () => {
      const client = await service.createClient();
      const verifier = newVerifier();
      const path = rawPath(client, { scope: asked, code_challenge: challengeOf(verifier) });
      const code = codeIn(await (await somebody(service)).allow(path))!;
      assertTokens(await service.exchange(client, { code, verifier }), granted);
    });
  }

  test('defaults to the registered scope', async () => {
    const client = await service.createClient({ scope: 'email' });
    const issued = await service.authorize(client, await somebody(service));
    assertTokens(await service.exchange(client, issued), 'email');
  });

  describe('that is optional', () => {
    async function allowed(scope: string | undefined, fields: Record<string, string>, granted: string) {
      const client = await service.createClient({ optionalScope: 'email' });
      const verifier = newVerifier();
      const path = rawPath(client, { scope, code_challenge: challengeOf(verifier) });
      const code = codeIn(await (await somebody(service)).allow(path, fields))!;
      assertTokens(await service.exchange(client, { code, verifier }), granted);
    }

    test('is a ticked checkbox on the screen; a required one is not', async () => {
      const client = await service.createClient({ optionalScope: 'email' });
      const { page } = await consent(await somebody(service), rawPath(client));
      const boxes = page.text.match(/<input[^>]*type="checkbox"[^>]*>/g) ?? [];
      assert.equal(boxes.length, 1);
      assert.match(boxes[0]!, /name="scope_email"/);
      assert.match(boxes[0]!, / checked/);
    });

    test('is granted when left ticked', () => allowed(undefined, { scope_email: 'yes' }, 'profile email'));
    test('is not granted when left out', () => allowed(undefined, {}, 'profile'));
    test('is not granted when it was not asked for', () =>
      allowed('profile', { scope_email: 'yes' }, 'profile'));
    test('does not make the required one a choice', () =>
      allowed(undefined, { scope_email: 'yes', scope_profile: '' }, 'profile email'));
  });
});

describe('the consent screen', () => {
  test('names the application, the user, the requested data and the destination', async () => {
    const client = await service.createClient({ redirectUris: ['https://client.example:8443/cb'] });
    const visitor = await somebody(service);
    const { page } = await consent(visitor, rawPath(client, { scope: 'email' }));
    assert.match(page.text, /Test application/);
    assert.ok(page.text.includes(`Signed in as <strong>${visitor.user.email}</strong>`));
    assert.ok(page.text.includes('you then go to <strong>client.example:8443</strong>'));
    assert.match(page.text, /<strong>E-mail address<\/strong>/);
    assert.ok(page.text.includes(`<dt>Your e-mail:</dt> <dd>${visitor.user.email}, verified</dd>`));
    assert.doesNotMatch(page.text, /Profile|Your name|Ada Lovelace/);
  });

  test('shows a hostile name and a hostile address as text', async () => {
    const hostile = '<img src=x onerror=alert(1)>"\'&';
    const clientId = `app_${newId()}`;
    await service.app.store.applications.create({
      clientId,
      ownerId: 'nobody',
      name: hostile,
      redirectUris: [REDIRECT_URI],
      scope: parseScope('email')!,
      optionalScope: 0,
      secret: newClientSecret(),
      now: service.clock.ms,
    });
    const visitor = await service.signedIn(
      await service.createUser(`"<script>alert(2)</script>"@${newId()}.example`),
    );
    const client = { clientId, clientSecret: '', redirectUri: REDIRECT_URI };
    const { page } = await consent(visitor, rawPath(client, { state: '"><script>alert(3)</script>' }));
    assert.doesNotMatch(page.text, /<img|<script>|alert\(3\)<\/script>/);
    assert.ok(page.text.includes('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;'));
    assert.ok(page.text.includes('&lt;script&gt;alert(2)'));
  });

  test('is shown every time, even if the user allowed it before', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    await service.tokens(client, visitor);
    await consent(visitor, rawPath(client));
  });

  test('has Deny as its first button, which is what the Enter key presses', async () => {
    const { page } = await consent(await somebody(service), rawPath(await service.createClient()));
    const buttons = [...page.text.matchAll(/<button[^>]*name="decision"[^>]*value="(\w+)"/g)].map(
      ([, value]) => value,
    );
    assert.deepEqual(buttons, ['deny', 'allow']);
  });

  test('cannot be framed, runs no inline script, and is not cached', async () => {
    const { page } = await consent(await somebody(service), rawPath(await service.createClient()));
    assertHeaders(page);
  });

  test('has no CORS headers for any origin', async () => {
    const client = await service.createClient();
    const origin = 'https://client.example';
    for (const response of [
      await service.get(rawPath(client), { origin }),
      await service.get('/oauth/authorize', { origin }),
      await service.send(rawPath(client), {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'GET' },
      }),
    ]) {
      for (const [name] of response.headers) assert.doesNotMatch(name, /^access-control-/);
    }
  });

  test('allows its form to redirect to the origin of the redirect_uri only', async () => {
    for (const [uri, source] of [
      ['https://client.example/callback?a=b', 'https://client.example'],
      ['https://client.example:8443/callback', 'https://client.example:8443'],
      ['http://localhost:4000/callback', 'http://localhost:4000'],
      ['http://127.0.0.1:4000/', 'http://127.0.0.1:4000'],
      ['http://[::1]:4000/', 'http:'],
    ] as const) {
      const client = await service.createClient({ redirectUris: [uri, 'https://unused.example/'] });
      const { page } = await consent(await somebody(service), rawPath(client));
      const policy = page.headers.get('content-security-policy') ?? '';
      const formAction = policy.split(';').find((directive) => directive.trim().startsWith('form-action'));
      assert.equal(formAction?.trim(), `form-action 'self' ${source}`);
    }
  });

  /** The headers of every page. */
  function assertHeaders(page: Reply): void {
    const policy = (page.headers.get('content-security-policy') ?? '').split(';').map((text) => text.trim());
    assert.ok(policy.includes("default-src 'none'"));
    assert.ok(policy.includes("frame-ancestors 'none'"));
    assert.ok(policy.includes("base-uri 'none'"));
    assert.ok(!policy.join().includes('unsafe'));
    assert.equal(page.headers.get('x-frame-options'), 'DENY');
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
    assert.match(page.headers.get('referrer-policy') ?? '', /^(same-origin|no-referrer)$/);
    assertNotCached(page);
  }

  test('has the same headers on error pages', async () => {
    const visitor = await somebody(service);
    assertHeaders(await visitor.get('/oauth/authorize'));
    assertHeaders(await visitor.post('/oauth/authorize', {}));
    assertHeaders(await service.get('/login'));
  });

  test('sends the application no referrer', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const { fields } = await consent(visitor, rawPath(client));
    assert.equal((await allow(visitor, fields)).headers.get('referrer-policy'), 'no-referrer');
  });
});

describe('the posted consent form', () => {
  for (const decision of [undefined, '', 'deny', 'ALLOW', 'allow ', 'yes', 'true', 'allow,deny', '1']) {
    test(`${JSON.stringify(decision) ?? 'no decision'} denies: access_denied with iss and state`, async () => {
      const client = await service.createClient();
      const visitor = await somebody(service);
      const { fields } = await consent(visitor, rawPath(client, { state: 'a%20b+%FF' }));
      const response = await decide(visitor, { ...fields, ...(decision !== undefined && { decision }) });
      assertRedirect(response, `${REDIRECT_URI}&${errorPairs('access_denied')}&state=a%20b+%FF`);
      assert.equal(await grantsOf(client), 0);
    });
  }

  test('creates one grant on allow', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const { fields } = await consent(visitor, rawPath(client));
    assert.ok(codeIn(locationOf(await allow(visitor, fields))));
    assert.equal(await grantsOf(client), 1);
  });

  test('with two decisions is 403', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const { fields } = await consent(visitor, rawPath(client));
    const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
    const body = `${new URLSearchParams(fields)}&decision=deny&decision=allow`;
    const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
    assertPage(await service.send('/oauth/authorize', { method: 'POST', body, headers }), 403);
    assert.equal(await grantsOf(client), 0);
  });
});

describe('a consent form of another session: 403, and no grant', () => {
  async function setUp() {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    return { client, visitor, ...(await consent(visitor, rawPath(client))) };
  }

  test('of another user', async () => {
    const { client, fields } = await setUp();
    assertPage(await allow(await somebody(service), fields), 403);
    assert.equal(await grantsOf(client), 0);
  });

  test('of another session of the same user', async () => {
    const { client, visitor, fields } = await setUp();
    assertPage(await allow(await service.signedIn(visitor.user), fields), 403);
    assert.equal(await grantsOf(client), 0);
  });

  test('of an earlier session in the same browser', async () => {
    const { client, visitor, page, fields } = await setUp();
    const formToken = /action="\/logout"[\s\S]*?name="form_token" value="([^"]+)"/.exec(page.text)![1]!;
    assert.equal((await visitor.post('/logout', { form_token: formToken })).status, 303);
    assertPage(await allow(visitor, fields), 403);
    await visitor.signIn();
    assertPage(await allow(visitor, fields), 403);
    assert.equal(await grantsOf(client), 0);
  });

  test('sent without a cookie', async () => {
    const { client, visitor, fields } = await setUp();
    assertPage(await allow(new Visitor(service, visitor.user), fields), 403);
    assert.equal(await grantsOf(client), 0);
  });

  test('posted by another site', async () => {
    const { client, visitor, fields } = await setUp();
    const response = await decide(
      visitor,
      { ...fields, decision: 'allow' },
      { 'sec-fetch-site': 'cross-site' },
    );
    assertPage(response, 403);
    assert.equal(await grantsOf(client), 0);
  });

  test('with any changed field', async () => {
    const { client, visitor, fields, page } = await setUp();
    const request = fields.request!;
    const [payload = '', signature = ''] = request.split('.');
    const pending = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const sealed = (changes: object) =>
      `${Buffer.from(JSON.stringify({ ...pending, ...changes })).toString('base64url')}.${signature}`;
    const other = await service.createClient();
    const formToken = /name="form_token" value="([^"]+)"/.exec(page.text)![1]!;
    for (const changed of [
      '',
      '.',
      payload,
      `${payload}.`,
      `.${signature}`,
      `${payload}.${signature.slice(1)}`,
      `${payload}.${signature.slice(0, -2)}${signature.endsWith('AA') ? 'BB' : 'AA'}`,
      `${payload}.${formToken}`,
      `.${formToken}`,
      `A${request}`,
      sealed({ grantId: newId() }),
      sealed({ shownAt: service.clock.ms + HOUR }),
      sealed({ query: rawPath(other).split('?')[1] }),
      sealed({ query: `${pending.query}&scope=email` }),
    ]) {
      assertPage(await allow(visitor, { request: changed }), 403);
    }
    assertPage(await decide(visitor, { decision: 'allow' }), 403);
    assert.equal((await grantsOf(client)) + (await grantsOf(other)), 0);
  });

  test('with any changed character of its signature', async () => {
    const { visitor, fields } = await setUp();
    const [payload = '', signature = ''] = fields.request!.split('.');
    for (let index = 0; index < signature.length; index++) {
      const other = signature[index] === 'A' ? 'B' : 'A';
      const changed = signature.slice(0, index) + other + signature.slice(index + 1);
      assert.equal((await allow(visitor, { request: `${payload}.${changed}` })).status, 403, `${index}`);
    }
  });

  test('older than an hour; one millisecond earlier it works', async () => {
    const { client, visitor, fields } = await setUp();
    const later = await consent(visitor, rawPath(client));
    service.clock.advance(HOUR - 1);
    assert.ok(codeIn(locationOf(await allow(visitor, fields))));
    service.clock.advance(1);
    assertPage(await allow(visitor, later.fields), 403);
    assert.equal(await grantsOf(client), 1);
  });
});

describe('allowing twice', () => {
  test('issues the same code and one grant', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const verifier = newVerifier();
    const { fields } = await consent(visitor, authorizePath(client, verifier));
    const first = await allow(visitor, fields);
    service.clock.advance(MINUTE);
    const second = await allow(visitor, fields);
    assert.equal(locationOf(second), locationOf(first));
    assert.equal(await grantsOf(client), 1);
    assertTokens(await service.exchange(client, { code: codeIn(locationOf(first))!, verifier }));
  });

  test('concurrently issues the same code and one grant', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const { fields } = await consent(visitor, rawPath(client));
    const responses = await Promise.all(Array.from({ length: 10 }, () => allow(visitor, fields)));
    assert.equal(new Set(responses.map(locationOf)).size, 1);
    assert.ok(codeIn(locationOf(responses[0]!)));
    assert.equal(await grantsOf(client), 1);
  });

  test('does not extend the lifetime of the code', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const verifier = newVerifier();
    const { fields } = await consent(visitor, authorizePath(client, verifier));
    const code = codeIn(locationOf(await allow(visitor, fields)))!;
    service.clock.advance(5 * MINUTE - 1);
    assert.equal(codeIn(locationOf(await allow(visitor, fields))), code);
    service.clock.advance(1);
    assert.equal((await service.exchange(client, { code, verifier })).body.error, 'invalid_grant');
  });

  for (const [rule, pass] of [
    [
      'after the code was exchanged',
      async (exchange: () => Promise<Reply>) => void assertTokens(await exchange()),
    ],
    ['after the code expired', async () => service.clock.advance(5 * MINUTE)],
  ] as const) {
    test(`${rule} shows the screen again, which issues a new code`, async () => {
      const client = await service.createClient();
      const visitor = await somebody(service);
      const verifier = newVerifier();
      const path = authorizePath(client, verifier, { state: 's' });
      const { fields } = await consent(visitor, path);
      const code = codeIn(locationOf(await allow(visitor, fields)))!;
      await pass(() => service.exchange(client, { code, verifier }));
      const again = await allow(visitor, fields);
      assertRedirect(again, path);
      const anew = await consent(visitor, locationOf(again));
      const next = codeIn(locationOf(await allow(visitor, anew.fields)))!;
      assert.notEqual(next, code);
      assertTokens(await service.exchange(client, { code: next, verifier }));
      assert.equal(await grantsOf(client), 2);
    });
  }

  test('going back after the exchange does not affect the tokens', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const verifier = newVerifier();
    const { fields } = await consent(visitor, authorizePath(client, verifier));
    const code = codeIn(locationOf(await allow(visitor, fields)))!;
    const tokens = assertTokens(await service.exchange(client, { code, verifier }));
    await allow(visitor, fields);
    await assertTokensWork(service, client, tokens);
  });

  test('two screens of one request are two grants', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const path = rawPath(client);
    const [one, other] = [await consent(visitor, path), await consent(visitor, path)];
    const codes = [await allow(visitor, one.fields), await allow(visitor, other.fields)]
      .map(locationOf)
      .map(codeIn);
    assert.notEqual(codes[0], codes[1]);
    assert.equal(await grantsOf(client), 2);
  });
});

describe('a change between the screen and the posted form', () => {
  test('application disabled: an error page, and no grant', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const { fields } = await consent(visitor, rawPath(client));
    await service.app.store.applications.setDisabled(client.clientId, true, service.clock.ms);
    assertPage(await allow(visitor, fields), 400);
    assertPage(await decide(visitor, { ...fields, decision: 'deny' }), 400);
    assert.equal(await grantsOf(client), 0);
  });

  test('application deleted: an error page, and no grant', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const { fields } = await consent(visitor, rawPath(client));
    await service.app.store.applications.delete(client.clientId);
    assertPage(await allow(visitor, fields), 400);
    assert.equal(await grantsOf(client), 0);
  });

  test('user disabled: the sign-in page, and no grant', async () => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const path = rawPath(client);
    const { fields } = await consent(visitor, path);
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    assertRedirect(await allow(visitor, fields), `/login?return_to=${encodeURIComponent(path)}`);
    assert.equal(await grantsOf(client), 0);
  });

  test('user disabled after the code was issued: no tokens, and earlier ones stop working', async () => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const tokens = await service.tokens(client, visitor);
    const issued = await service.authorize(client, visitor);
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    assert.equal((await service.exchange(client, issued)).body.error, 'invalid_grant');
    assertInvalidToken(await service.userinfo(tokens.access_token));
  });
});

describe('a user who is not signed in', () => {
  test('signs in and returns to the same request, with the state as sent', async () => {
    const client = await service.createClient();
    const visitor = new Visitor(service, await service.createUser());
    const state = 'a%20b%2B+%FF%22';
    const path = rawPath(client, { state, scope: 'email+profile' });
    const first = await visitor.get(path);
    assertRedirect(first, `/login?return_to=${encodeURIComponent(path)}`);
    const signedIn = await visitor.signIn(locationOf(first));
    assertRedirect(signedIn, path);
    const location = await visitor.allow(locationOf(signedIn));
    assert.ok(location.endsWith(`&state=${state}`), location);
    assert.ok(codeIn(location));
  });

  test('returns to the request after a wrong password, too', async () => {
    const client = await service.createClient();
    const visitor = new Visitor(service, await service.createUser());
    const path = rawPath(client);
    const loginPath = locationOf(await visitor.get(path));
    const wrong = await visitor.signIn(loginPath, 'wrong password');
    assert.equal(wrong.status, 400);
    assert.equal(hiddenFields(wrong.text).return_to, path);
    assertRedirect(await visitor.signIn(loginPath), path);
  });

  test('is not redirected to the application by an erroneous request: that would be an open redirector', async () => {
    const client = await service.createClient();
    for (const change of [{ scope: 'unknown' }, { response_type: 'token' }, { code_challenge: '' }]) {
      const path = rawPath(client, change);
      assertRedirect(await service.get(path), `/login?return_to=${encodeURIComponent(path)}`);
    }
  });

  test('can switch accounts and returns to the request', async () => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const path = rawPath(client, { state: '%FF+' });
    const { page } = await consent(visitor, path);
    const at = page.text.lastIndexOf('<form', page.text.indexOf('action="/logout"'));
    const out = await visitor.post('/logout', hiddenFields(page.text.slice(at)));
    assertRedirect(out, path);
    assertRedirect(await visitor.get(locationOf(out)), `/login?return_to=${encodeURIComponent(path)}`);
  });
});

test('405 with Allow for every method but GET, HEAD and POST', async () => {
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await service.send('/oauth/authorize', { method });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get('allow'), 'GET, HEAD, POST');
  }
});
