import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { somebody } from '../support/connected.ts';
import {
  assertError,
  assertGrantRevoked,
  assertInvalidClient,
  assertInvalidGrant,
  assertInvalidRequest,
  assertInvalidToken,
  assertNotCached,
  assertTokens,
  assertTokensWork,
  basic,
  RATE_LIMIT_HEADERS,
  textWithoutRequestId,
} from '../support/responses.ts';
import {
  authorizePath,
  challengeOf,
  DAY,
  exchangeForm,
  type IssuedCode,
  MINUTE,
  newVerifier,
  type Reply,
  Service,
  type TestClient,
  type Visitor,
} from '../support/service.ts';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(() => service.stop());

type Issued = { client: TestClient; visitor: Visitor; issued: IssuedCode };

async function issueCode(parameters: Record<string, string> = {}): Promise<Issued> {
  const client = await service.createClient();
  const visitor = await somebody(service);
  return { client, visitor, issued: await service.authorize(client, visitor, parameters) };
}

/** The refused request did not use up the code: it can still be exchanged. */
async function assertStillIssued({ client, issued }: Issued): Promise<void> {
  assertTokens(await service.exchange(client, issued));
}

function without(form: Record<string, string>, name: string): Record<string, string> {
  const { [name]: _, ...rest } = form;
  return rest;
}

describe('a code is exchanged', () => {
  test('for an access token and a refresh token, with all five fields', async () => {
    const { client, issued } = await issueCode();
    const response = await service.exchange(client, issued);
    const tokens = assertTokens(response, 'profile email');
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(response.headers.get('pragma'), 'no-cache');
    await assertTokensWork(service, client, tokens);
  });

  test('with a JSON body as well', async () => {
    const { client, issued } = await issueCode();
    const body = JSON.stringify(exchangeForm(client, issued));
    const headers = { 'content-type': 'application/json' };
    assertTokens(await service.send('/oauth/token', { method: 'POST', body, headers }));
  });

  test('with unknown parameters, which are ignored', async () => {
    const { client, issued } = await issueCode();
    assertTokens(await service.exchange(client, issued, { audience: 'x', scope: 'unknown', token: 'y' }));
  });

  test('with the granted scope in a fixed order', async () => {
    const { client, issued } = await issueCode({ scope: 'email profile' });
    assertTokens(await service.exchange(client, issued), 'profile email');
  });

  test('with the requested scope only', async () => {
    const { client, issued } = await issueCode({ scope: 'email' });
    assertTokens(await service.exchange(client, issued), 'email');
  });

  test('one millisecond before five minutes have passed', async () => {
    const { client, issued } = await issueCode();
    service.clock.advance(5 * MINUTE - 1);
    assertTokens(await service.exchange(client, issued));
  });

  test('with a verifier of 43 and of 128 characters', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    for (const verifier of ['-._~'.padEnd(43, 'a'), '-._~'.padEnd(128, 'Z')]) {
      const location = await visitor.allow(authorizePath(client, verifier));
      const code = new URL(location).searchParams.get('code')!;
      assertTokens(await service.exchange(client, { code, verifier }));
    }
  });
});

describe('invalid_grant, and the code keeps working', () => {
  const redirectUris = ['https://client.example/cb?a=%20b', 'https://client.example/other'];

  test('when five minutes have passed', async () => {
    const { client, issued } = await issueCode();
    service.clock.advance(5 * MINUTE);
    assertInvalidGrant(await service.exchange(client, issued));
    service.clock.advance(DAY);
    assertInvalidGrant(await service.exchange(client, issued));
  });

  for (const [rule, redirectUri] of [
    ['is another registered one', redirectUris[1]!],
    ['has a slash more', `${redirectUris[0]}/`],
    ['differs in case', 'https://Client.example/cb?a=%20b'],
    ['is encoded otherwise', 'https://client.example/cb?a=+b'],
    ['has the default port', 'https://client.example:443/cb?a=%20b'],
    ['has no query', 'https://client.example/cb'],
    ['has a space around it', ` ${redirectUris[0]}`],
    ['has a NUL after it', `${redirectUris[0]}\0`],
  ] as const) {
    test(`when the redirect_uri ${rule}`, async () => {
      const client = await service.createClient({ redirectUris });
      const issued = await service.authorize(client, await somebody(service));
      assertInvalidGrant(await service.exchange(client, issued, { redirect_uri: redirectUri }));
      assertTokens(await service.exchange(client, issued));
    });
  }

  test('when another client presents it', async () => {
    const ours = await issueCode();
    const other = await service.createClient();
    assertInvalidGrant(await service.exchange(other, ours.issued));
    await assertStillIssued(ours);
  });

  test('when the code_verifier is absent or empty (the only missing parameter that is not invalid_request)', async () => {
    const ours = await issueCode();
    const form = exchangeForm(ours.client, ours.issued);
    assertInvalidGrant(await service.post('/oauth/token', without(form, 'code_verifier')));
    assertInvalidGrant(await service.post('/oauth/token', { ...form, code_verifier: '' }));
    await assertStillIssued(ours);
  });

  test('when the code_verifier is wrong in any way', async () => {
    const ours = await issueCode();
    const { verifier } = ours.issued;
    const changedCase = verifier.replace(/[a-z]/i, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    );
    for (const wrong of [
      newVerifier(),
      challengeOf(verifier),
      verifier.slice(1),
      `${verifier}a`,
      `${verifier}\n`,
      `${verifier}=`,
      changedCase,
      'a',
      'a'.repeat(129),
      '\0',
      'é'.repeat(43),
    ]) {
      assertInvalidGrant(await service.exchange(ours.client, ours.issued, { code_verifier: wrong }));
    }
    await assertStillIssued(ours);
  });

  test('when the user is disabled, until enabled again', async () => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const ours = { client, visitor, issued: await service.authorize(client, visitor) };
    const { id } = visitor.user;
    await service.app.store.users.setDisabled(id, true, service.clock.ms);
    assertInvalidGrant(await service.exchange(ours.client, ours.issued));
    await service.app.store.users.setDisabled(id, false, service.clock.ms);
    await assertStillIssued(ours);
  });
});

describe('invalid_grant for something that is not a code', () => {
  test('garbage, a changed code, and other kinds of token', async () => {
    const { client, issued } = await issueCode();
    const tokens = assertTokens(await service.exchange(client, issued));
    const last = issued.code.at(-1) === 'A' ? 'B' : 'A';
    for (const code of [
      'x',
      'null',
      '\0',
      `${issued.code.slice(0, -1)}${last}`,
      tokens.refresh_token,
      tokens.access_token,
      tokens.refresh_token.replace('postern_rt_', 'postern_code_'),
    ]) {
      assertInvalidGrant(await service.exchange(client, { ...issued, code }));
    }
    await assertTokensWork(service, client, tokens);
  });

  test('a valid code of a grant that does not exist', async () => {
    const { client, visitor, issued } = await issueCode();
    const { tokenSigner } = service.app.keys;
    const code = tokenSigner.signCode({ userId: visitor.user.id, grantId: 'A'.repeat(22), generation: 0 });
    assertInvalidGrant(await service.exchange(client, { ...issued, code }));
  });
});

describe('a used code', () => {
  test('is invalid_grant and issues no tokens', async () => {
    const { client, issued } = await issueCode();
    assertTokens(await service.exchange(client, issued));
    assertInvalidGrant(await service.exchange(client, issued));
    assertInvalidGrant(await service.exchange(client, issued));
  });

  test('replayed with correct parameters revokes the grant', async () => {
    const { client, issued } = await issueCode();
    const tokens = assertTokens(await service.exchange(client, issued));
    assertInvalidGrant(await service.exchange(client, issued));
    await assertGrantRevoked(service, client, tokens);
  });

  test('replayed after a rotation revokes the grant as well', async () => {
    const { client, issued } = await issueCode();
    const first = assertTokens(await service.exchange(client, issued));
    const second = assertTokens(await service.refresh(client, first.refresh_token));
    service.clock.advance(5 * MINUTE - 1);
    assertInvalidGrant(await service.exchange(client, issued));
    assertInvalidToken(await service.userinfo(first.access_token));
    await assertGrantRevoked(service, client, second);
  });

  test('replayed after its expiry revokes the grant as well', async () => {
    const { client, issued } = await issueCode();
    const tokens = assertTokens(await service.exchange(client, issued));
    service.clock.advance(30 * MINUTE);
    assertInvalidGrant(await service.exchange(client, issued));
    await assertGrantRevoked(service, client, tokens);
  });

  const harmless: readonly (readonly [string, (client: TestClient, issued: IssuedCode) => Promise<Reply>])[] =
    [
      [
        'a wrong code_verifier',
        (client, issued) => service.exchange(client, issued, { code_verifier: newVerifier() }),
      ],
      ['no code_verifier', (client, issued) => service.exchange(client, issued, { code_verifier: '' })],
      [
        'another redirect_uri',
        (client, issued) =>
          service.exchange(client, issued, { redirect_uri: 'https://client.example/callback' }),
      ],
      ['another client', async (_, issued) => service.exchange(await service.createClient(), issued)],
    ];
  for (const [rule, replay] of harmless) {
    test(`replayed with ${rule} is invalid_grant and revokes nothing`, async () => {
      const { client, issued } = await issueCode();
      const tokens = assertTokens(await service.exchange(client, issued));
      assertInvalidGrant(await replay(client, issued));
      await assertTokensWork(service, client, tokens);
    });
  }

  test('replayed with a wrong client_secret is invalid_client and revokes nothing', async () => {
    const { client, issued } = await issueCode();
    const tokens = assertTokens(await service.exchange(client, issued));
    assertInvalidClient(await service.exchange(client, issued, { client_secret: 'wrong' }));
    await assertTokensWork(service, client, tokens);
  });

  test('replayed revokes only its own grant', async () => {
    const { client, visitor, issued } = await issueCode();
    const other = await service.tokens(client, visitor);
    assertTokens(await service.exchange(client, issued));
    assertInvalidGrant(await service.exchange(client, issued));
    await assertTokensWork(service, client, other);
  });
});

describe('invalid_request', () => {
  for (const name of ['grant_type', 'code', 'redirect_uri', 'client_id', 'client_secret']) {
    test(`when ${name} is missing or empty, and nothing changes`, async () => {
      const ours = await issueCode();
      const form = exchangeForm(ours.client, ours.issued);
      assertInvalidRequest(await service.post('/oauth/token', without(form, name)));
      assertInvalidRequest(await service.post('/oauth/token', { ...form, [name]: '' }));
      await assertStillIssued(ours);
    });
  }

  for (const name of [
    'client_id',
    'client_secret',
    'code',
    'code_verifier',
    'refresh_token',
    'token',
    'access_token',
  ]) {
    test(`when ${name} is in the query beside a correct body, and nothing changes`, async () => {
      const ours = await issueCode();
      const form = exchangeForm(ours.client, ours.issued);
      for (const query of [`${name}=x`, `${name}=`, `a=b&${name}=x`, `x=%FF&${encodeAll(name)}=x`]) {
        assertInvalidRequest(await service.post(`/oauth/token?${query}`, form));
      }
      const body = without(form, name);
      const moved = new URLSearchParams({ [name]: form[name] ?? 'x' });
      assertInvalidRequest(await service.post(`/oauth/token?${moved}`, body));
      await assertStillIssued(ours);
    });
  }

  test('when a missing parameter is in the query', async () => {
    const ours = await issueCode();
    const form = without(exchangeForm(ours.client, ours.issued), 'grant_type');
    assertInvalidRequest(await service.post('/oauth/token?grant_type=authorization_code', form));
    await assertStillIssued(ours);
  });
});

/** Every character percent-encoded. */
const encodeAll = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

describe('invalid_client, and nothing changes', () => {
  test('when the client_secret is wrong', async () => {
    const ours = await issueCode();
    const { clientSecret } = ours.client;
    for (const wrong of [
      'wrong',
      ` ${clientSecret}`,
      clientSecret.slice(0, -1),
      `${clientSecret}A`,
      '\0',
      'é',
    ]) {
      assertInvalidClient(await service.exchange(ours.client, ours.issued, { client_secret: wrong }));
    }
    await assertStillIssued(ours);
  });

  test('when the client_secret belongs to another application', async () => {
    const ours = await issueCode();
    const other = await service.createClient();
    const changes = { client_secret: other.clientSecret };
    assertInvalidClient(await service.exchange(ours.client, ours.issued, changes));
    await assertStillIssued(ours);
  });

  test('when the client_secret is the stored hash of the correct one', async () => {
    const ours = await issueCode();
    const application = await service.app.store.applications.find(ours.client.clientId);
    const changes = { client_secret: application!.secrets[0]!.hash };
    assertInvalidClient(await service.exchange(ours.client, ours.issued, changes));
    await assertStillIssued(ours);
  });

  test('when the client_id is unknown or merely similar', async () => {
    const ours = await issueCode();
    const { clientId } = ours.client;
    for (const wrong of [
      'unknown',
      clientId.toUpperCase(),
      ` ${clientId}`,
      `${clientId}\0`,
      '__proto__',
      'a'.repeat(1000),
    ]) {
      assertInvalidClient(await service.exchange(ours.client, ours.issued, { client_id: wrong }));
    }
    await assertStillIssued(ours);
  });

  test('when the application is disabled, until enabled again', async () => {
    const ours = await issueCode();
    const { applications } = service.app.store;
    await applications.setDisabled(ours.client.clientId, true, service.clock.ms);
    assertInvalidClient(await service.exchange(ours.client, ours.issued));
    await applications.setDisabled(ours.client.clientId, false, service.clock.ms);
    await assertStillIssued(ours);
  });

  test('when the application was deleted', async () => {
    const { client, issued } = await issueCode();
    await service.app.store.applications.delete(client.clientId);
    assertInvalidClient(await service.exchange(client, issued));
  });

  test('with the same response for a wrong secret, an unknown id and a disabled application', async () => {
    const { client, issued } = await issueCode();
    const wrongSecret = await service.exchange(client, issued, { client_secret: 'wrong' });
    const unknown = await service.exchange(client, issued, { client_id: 'unknown' });
    await service.app.store.applications.setDisabled(client.clientId, true, service.clock.ms);
    const disabled = await service.exchange(client, issued);
    assert.equal(textWithoutRequestId(unknown), textWithoutRequestId(wrongSecret));
    assert.equal(textWithoutRequestId(disabled), textWithoutRequestId(wrongSecret));
  });
});

describe('while a client_secret is being rotated', () => {
  async function rotate({ clientId }: TestClient, overlap: number): Promise<TestClient> {
    const clientSecret = `postern_cs_${newVerifier()}`;
    const now = service.clock.ms;
    await service.app.store.applications.rotateSecret(clientId, clientSecret, now + overlap, now);
    return { clientId, clientSecret, redirectUri: '' };
  }

  test('both work, the earlier one until the end of the overlap', async () => {
    const { client, visitor } = await issueCode();
    const renewed = { ...(await rotate(client, MINUTE)), redirectUri: client.redirectUri };
    const [first, second, third] = [
      await service.authorize(client, visitor),
      await service.authorize(client, visitor),
      await service.authorize(client, visitor),
    ];
    assertTokens(await service.exchange(renewed, first));
    service.clock.advance(MINUTE - 1);
    assertTokens(await service.exchange(client, second));
    service.clock.advance(1);
    assertInvalidClient(await service.exchange(client, third));
    assertTokens(await service.exchange(renewed, third));
  });

  test('without an overlap the earlier one stops working at once', async () => {
    const ours = await issueCode();
    const renewed = await rotate(ours.client, 0);
    assertInvalidClient(await service.exchange(ours.client, ours.issued));
    await assertStillIssued({ ...ours, client: { ...renewed, redirectUri: ours.client.redirectUri } });
  });

  test('a second rotation does not extend an earlier overlap', async () => {
    const ours = await issueCode();
    await rotate(ours.client, MINUTE);
    await rotate(ours.client, DAY);
    service.clock.advance(MINUTE);
    assertInvalidClient(await service.exchange(ours.client, ours.issued));
  });
});

describe('HTTP Basic', () => {
  const exchangeWith = (issued: IssuedCode, client: TestClient, authorization: string, changes = {}) => {
    const form = without(without(exchangeForm(client, issued), 'client_id'), 'client_secret');
    return service.post('/oauth/token', { ...form, ...changes }, { authorization });
  };

  test('authenticates like the two parameters, with a case-insensitive scheme', async () => {
    const client = await service.createClient();
    const visitor = await somebody(service);
    const credentials = basic(client.clientId, client.clientSecret).slice('Basic '.length);
    for (const scheme of ['Basic', 'basic', 'BASIC']) {
      const issued = await service.authorize(client, visitor);
      assertTokens(await exchangeWith(issued, client, `${scheme} ${credentials}`));
    }
  });

  test('has both parts form-encoded', async () => {
    const { client, issued } = await issueCode();
    const secret = 'a+b c:d%2F/é&=';
    const now = service.clock.ms;
    await service.app.store.applications.rotateSecret(client.clientId, secret, now, now);
    assertInvalidClient(await exchangeWith(issued, client, basic(client.clientId, 'a+b c:d%2F/é&=')));
    const encoded = new URLSearchParams({ x: secret }).toString().slice(2);
    assertTokens(await exchangeWith(issued, client, basic(encodeAll(client.clientId), encoded)));
  });

  test('with wrong credentials is invalid_client', async () => {
    const ours = await issueCode();
    assertInvalidClient(await exchangeWith(ours.issued, ours.client, basic(ours.client.clientId, 'wrong')));
    assertInvalidClient(
      await exchangeWith(ours.issued, ours.client, basic('unknown', ours.client.clientSecret)),
    );
    await assertStillIssued(ours);
  });

  test('and a client_secret in the body is invalid_request, even if both are correct', async () => {
    const ours = await issueCode();
    const { clientId, clientSecret } = ours.client;
    const authorization = basic(clientId, clientSecret);
    for (const changes of [
      { client_id: clientId, client_secret: clientSecret },
      { client_secret: clientSecret },
      { client_secret: 'wrong' },
    ]) {
      assertInvalidRequest(await exchangeWith(ours.issued, ours.client, authorization, changes));
    }
    await assertStillIssued(ours);
  });

  test('may repeat the client_id in the body; a different one is invalid_request', async () => {
    const { client, visitor, issued } = await issueCode();
    const authorization = basic(client.clientId, client.clientSecret);
    const other = await service.createClient();
    assertInvalidRequest(await exchangeWith(issued, client, authorization, { client_id: other.clientId }));
    assertTokens(await exchangeWith(issued, client, authorization, { client_id: client.clientId }));
    const next = await service.authorize(client, visitor);
    assertTokens(await exchangeWith(next, client, authorization, { client_id: '' }));
  });

  test('without both parts, or malformed, is a request without credentials', async () => {
    const ours = await issueCode();
    const { clientId, clientSecret } = ours.client;
    for (const authorization of [
      'Basic',
      'Basic ',
      'Basic !!!',
      'Basic AAAA',
      basic(clientId, ''),
      basic('', clientSecret),
      basic(clientId, '%'),
      basic('%FF', clientSecret),
      `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`,
    ]) {
      const response = await exchangeWith(ours.issued, ours.client, authorization);
      assert.ok([400, 401].includes(response.status), `${authorization}: ${response.text}`);
      assert.ok(['invalid_request', 'invalid_client'].includes(String(response.body.error)), response.text);
    }
    await assertStillIssued(ours);
  });

  test('is the only scheme that is read; another one is ignored', async () => {
    const { client, issued } = await issueCode();
    const form = exchangeForm(client, issued);
    assertTokens(await service.post('/oauth/token', form, { authorization: 'Bearer x' }));
  });
});

describe('unsupported_grant_type', () => {
  for (const grantType of [
    'password',
    'client_credentials',
    'implicit',
    'urn:ietf:params:oauth:grant-type:device_code',
    'AUTHORIZATION_CODE',
    ' authorization_code',
    'refresh_token ',
    '__proto__',
    'authorization_code\0',
  ]) {
    test(`for ${JSON.stringify(grantType)}, and nothing changes`, async () => {
      const ours = await issueCode();
      const response = await service.exchange(ours.client, ours.issued, { grant_type: grantType });
      assertError(response, 400, 'unsupported_grant_type');
      await assertStillIssued(ours);
    });
  }
});

describe('of several errors the first in this order is returned', () => {
  const bad = { client_id: 'unknown', client_secret: 'wrong' };
  const badCode = { code: 'x', redirect_uri: 'x' };
  const post = (form: Record<string, string>) => service.post('/oauth/token', form);

  test('method, before everything else', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const body = method === 'GET' ? null : 'a=1&a=2';
      const response = await service.send('/oauth/token', { method, body });
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get('allow'), 'POST');
      assertError(response, 405, 'invalid_request');
    }
  });

  test('body, before grant_type', async () => {
    const send = (body: string) =>
      service.send('/oauth/token', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
    assertInvalidRequest(await send('grant_type=password&x=1&x=2'));
    assertError(await send('grant_type=password&x=1'), 400, 'unsupported_grant_type');
  });

  test('missing grant_type, before missing parameters and wrong credentials', async () => {
    assertInvalidRequest(await post({}));
    assertInvalidRequest(await post({ ...bad, ...badCode }));
  });

  test('unsupported_grant_type, before missing parameters and wrong credentials', async () => {
    assertError(await post({ grant_type: 'password' }), 400, 'unsupported_grant_type');
    assertError(await post({ grant_type: 'password', ...bad }), 400, 'unsupported_grant_type');
  });

  test('missing parameters, before invalid_client', async () => {
    assertInvalidRequest(await post({ grant_type: 'authorization_code', ...bad }));
    assertInvalidRequest(await post({ grant_type: 'authorization_code', ...bad, code: 'x' }));
    assertInvalidRequest(await post({ grant_type: 'authorization_code', ...bad, redirect_uri: 'x' }));
    assertInvalidRequest(await post({ grant_type: 'authorization_code', ...badCode, client_id: 'unknown' }));
    assertInvalidRequest(
      await post({ grant_type: 'authorization_code', ...badCode, client_secret: 'wrong' }),
    );
    assertInvalidRequest(await post({ grant_type: 'refresh_token', ...bad }));
    assertInvalidRequest(
      await post({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'unknown' }),
    );
  });

  test('invalid_client, before invalid_grant and invalid_scope', async () => {
    assertInvalidClient(await post({ grant_type: 'authorization_code', ...bad, ...badCode }));
    assertInvalidClient(
      await post({ grant_type: 'refresh_token', ...bad, refresh_token: 'x', scope: 'unknown' }),
    );
  });

  test('a missing code_verifier, with the other checks of the grant', async () => {
    const ours = await issueCode();
    const form = without(exchangeForm(ours.client, ours.issued), 'code_verifier');
    assertInvalidRequest(await post(without(form, 'code')));
    assertInvalidClient(await post({ ...form, client_secret: 'wrong' }));
    assertInvalidGrant(await post(form));
    await assertStillIssued(ours);
  });
});

describe('an error', () => {
  test('never repeats input', async () => {
    const { client, issued } = await issueCode();
    const mark = 'MARK4711';
    const responses = [
      await service.post('/oauth/token', { grant_type: mark, client_id: mark, client_secret: mark }),
      await service.exchange(client, issued, { code: mark, redirect_uri: mark, code_verifier: mark }),
      await service.exchange(client, issued, { client_id: mark, client_secret: mark }),
      await service.refresh(client, mark, { scope: mark }),
      await service.post(`/oauth/token?client_id=${mark}`, {}),
      await service.send(`/oauth/token?${mark}`, { method: 'PUT' }),
      await service.get(`/oauth/${mark}`),
    ];
    for (const response of responses) {
      assert.ok(response.status >= 400 && response.status < 500);
      assert.doesNotMatch(response.text, /MARK4711/);
      assertNotCached(response);
    }
  });

  test('for a URL that cannot be decoded repeats no input either', async () => {
    const response = await service.get('/oauth/%ZZMARK4711');
    assert.doesNotMatch(response.text, /MARK4711/);
    assertInvalidRequest(response);
  });

  test('is logged with its reason and without credentials', async () => {
    const { client, issued } = await issueCode();
    const tokens = assertTokens(await service.exchange(client, issued));
    await service.refresh(client, tokens.refresh_token);
    await service.exchange(client, issued, { code_verifier: newVerifier() });
    await service.userinfo(tokens.access_token);
    const log = service.logged.join('');
    assert.match(log, /code_replayed/);
    for (const secret of [issued.code, issued.verifier, client.clientSecret, ...Object.values(tokens)]) {
      if (String(secret).length > 20) assert.ok(!log.includes(String(secret)));
    }
  });
});

test('the database contains no usable credential', async () => {
  const { client, issued } = await issueCode();
  const tokens = assertTokens(await service.exchange(client, issued));
  const stored = await service.storedBytes();
  assert.ok(stored.includes(client.clientId));
  for (const secret of [
    client.clientSecret,
    issued.code,
    issued.verifier,
    tokens.refresh_token,
    tokens.access_token,
  ]) {
    assert.ok(!stored.includes(secret));
    assert.ok(!stored.includes(secret.slice(-22)));
  }
});

describe('a database that is away', () => {
  /** The response to an exchange while the database is unavailable. Afterwards the same code must work. */
  async function exchangeWithoutDatabase(): Promise<Reply> {
    const broken = await Service.start();
    try {
      const client = await broken.createClient();
      const issued = await broken.authorize(client, await broken.signedIn());
      const bringBack = await broken.takeDatabaseAway();
      const response = await broken.exchange(client, issued);
      await bringBack();
      while ((await broken.get('/health')).status !== 200);
      assertTokens(await broken.exchange(client, issued));
      return response;
    } finally {
      await broken.stop();
    }
  }

  test('is 503 in JSON with Retry-After, and changes nothing', async () => {
    const response = await exchangeWithoutDatabase();
    assertError(response, 503, 'temporarily_unavailable');
    assert.match(response.headers.get('retry-after')!, /^[1-9]\d*$/);
  });

  test('has the rate-limit headers like every response to a request with a client_id', async () => {
    const response = await exchangeWithoutDatabase();
    for (const name of RATE_LIMIT_HEADERS) assert.notEqual(response.headers.get(name), null, name);
  });
});
