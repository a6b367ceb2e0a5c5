import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect } from '../support/connected.ts';
import {
  assertError,
  assertGrantRevoked,
  assertInvalidClient,
  assertInvalidGrant,
  assertInvalidRequest,
  assertInvalidToken,
  assertNotCached,
  assertReused,
  assertRevoked,
  assertTokens,
  assertTokensWork,
  basic,
  textWithoutRequestId,
} from '../support/responses.ts';
import { DAY, HOUR, newVerifier, type Reply, Service } from '../support/service.ts';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(() => service.stop());

describe('revoking a refresh token', () => {
  test('revokes it and its access token at once', async () => {
    const { client, tokens } = await connect(service);
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    assertInvalidToken(await service.userinfo(tokens.access_token));
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
  });

  test('revokes the grant, earlier access tokens included', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(client, second.refresh_token));
    assertInvalidToken(await service.userinfo(tokens.access_token));
    await assertGrantRevoked(service, client, second);
  });

  test('that was used revokes the grant', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    await assertGrantRevoked(service, client, second);
    assertReused(await service.refresh(client, tokens.refresh_token));
  });

  test('revokes only its own grant', async () => {
    const { client, visitor, tokens } = await connect(service);
    const other = await service.tokens(client, visitor);
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    await assertTokensWork(service, client, other);
  });

  test('works while the user is disabled, and lasts when enabled again', async () => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const tokens = await service.tokens(client, visitor);
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    await service.app.store.users.setDisabled(visitor.user.id, false, service.clock.ms);
    await assertGrantRevoked(service, client, tokens);
  });
});

describe('revoking an access token', () => {
  test('revokes only this token: the refresh token and its successors work', async () => {
    const { client, tokens } = await connect(service);
    assertRevoked(await service.revoke(client, tokens.access_token));
    assertInvalidToken(await service.userinfo(tokens.access_token));
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assert.equal((await service.userinfo(second.access_token)).status, 200);
    assertInvalidToken(await service.userinfo(tokens.access_token));
  });

  test('leaves earlier access tokens of its grant valid', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(client, second.access_token));
    assertInvalidToken(await service.userinfo(second.access_token));
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
  });

  test('lasts until the token would have expired', async () => {
    const { client, tokens } = await connect(service);
    assertRevoked(await service.revoke(client, tokens.access_token));
    service.clock.advance(HOUR - 1);
    await service.app.store.revokedAccessTokens.sweep(1000, service.clock.ms);
    assertInvalidToken(await service.userinfo(tokens.access_token));
  });
});

describe('the token_type_hint', () => {
  for (const hint of ['access_token', 'refresh_token', 'unknown', '']) {
    test(`${JSON.stringify(hint)} is only a hint: both kinds of token are revoked`, async () => {
      const { client, tokens } = await connect(service);
      assertRevoked(await service.revoke(client, tokens.access_token, { token_type_hint: hint }));
      assertInvalidToken(await service.userinfo(tokens.access_token));
      assertRevoked(await service.revoke(client, tokens.refresh_token, { token_type_hint: hint }));
      assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
    });
  }
});

describe('a token of another application', () => {
  for (const kind of ['refresh_token', 'access_token'] as const) {
    test(`gets the same response and keeps working: ${kind}`, async () => {
      const { client, tokens } = await connect(service);
      assertRevoked(await service.revoke(await service.createClient(), tokens[kind]));
      await assertTokensWork(service, client, tokens);
    });
  }

  test('gets the same response and changes nothing: a used refresh token', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(await service.createClient(), tokens.refresh_token));
    await assertTokensWork(service, client, second);
  });
});

test('an authorization code gets the same response, and can still be exchanged', async () => {
  const { client, visitor } = await connect(service);
  const issued = await service.authorize(client, visitor);
  assertRevoked(await service.revoke(client, issued.code));
  assertTokens(await service.exchange(client, issued));
});

test('every success response is the same, byte for byte', async () => {
  const { client, visitor, tokens } = await connect(service);
  const expired = await service.tokens(client, visitor);
  service.clock.advance(30 * DAY);
  const ours = await connect(service);
  const others = await connect(service);
  const rotated = assertTokens(await service.refresh(ours.client, ours.tokens.refresh_token));
  const code = await service.authorize(ours.client, ours.visitor);
  const responses = new Map<string, Reply>();
  for (const [name, token] of Object.entries({
    'an expired refresh token of another': tokens.refresh_token,
    "another's expired access token": expired.access_token,
    "another's refresh token": others.tokens.refresh_token,
    "another's access token": others.tokens.access_token,
    'an access token': rotated.access_token,
    'the access token again': rotated.access_token,
    'a consumed refresh token': ours.tokens.refresh_token,
    'a refresh token of a family that ended': rotated.refresh_token,
    'a code': code.code,
    garbage: newVerifier(),
    'a changed token': `${rotated.refresh_token.slice(0, -1)}_`,
    'one character': 'x',
    'a NUL': '\0',
    'something long': 'x'.repeat(10_000),
  })) {
    responses.set(name, await service.revoke(ours.client, token));
  }
  const seen = ({ status, headers, text }: Reply) => {
    const same = [...headers].filter(([name]) => !['date', 'ratelimit-remaining'].includes(name));
    return { status, text, headers: same };
  };
  const [first] = responses.values();
  assert.equal(first!.text, '{"revoked":true}');
  assertNotCached(first!);
  for (const [name, response] of responses) assert.deepEqual(seen(response), seen(first!), name);
});

describe('errors', () => {
  for (const name of ['token', 'client_id', 'client_secret']) {
    test(`invalid_request when ${name} is missing or empty, and nothing changes`, async () => {
      const { client, tokens } = await connect(service);
      const form: Record<string, string> = {
        token: tokens.refresh_token,
        client_id: client.clientId,
        client_secret: client.clientSecret,
      };
      const { [name]: _, ...rest } = form;
      assertInvalidRequest(await service.post('/oauth/revoke', rest));
      assertInvalidRequest(await service.post('/oauth/revoke', { ...rest, [name]: '' }));
      await assertTokensWork(service, client, tokens);
    });
  }

  test('invalid_client for wrong credentials, and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    for (const token of [tokens.refresh_token, tokens.access_token]) {
      assertInvalidClient(await service.revoke(client, token, { client_secret: 'wrong' }));
      assertInvalidClient(await service.revoke(client, token, { client_id: 'unknown' }));
    }
    await assertTokensWork(service, client, tokens);
  });

  test('invalid_client for a disabled application, and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    const { applications } = service.app.store;
    await applications.setDisabled(client.clientId, true, service.clock.ms);
    assertInvalidClient(await service.revoke(client, tokens.refresh_token));
    await applications.setDisabled(client.clientId, false, service.clock.ms);
    await assertTokensWork(service, client, tokens);
  });

  test('a missing token is reported before wrong credentials', async () => {
    const wrong = { client_id: 'unknown', client_secret: 'wrong' };
    assertInvalidRequest(await service.post('/oauth/revoke', wrong));
    assertInvalidClient(await service.post('/oauth/revoke', { ...wrong, token: 'x' }));
  });

  test('invalid_client is the same for a live token and for garbage', async () => {
    const { client, tokens } = await connect(service);
    const live = await service.revoke(client, tokens.refresh_token, { client_secret: 'wrong' });
    const garbage = await service.revoke(client, 'garbage', { client_secret: 'wrong' });
    assert.equal(textWithoutRequestId(live), textWithoutRequestId(garbage));
    assert.equal(live.status, garbage.status);
  });

  test('405 with Allow for every method but POST', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await service.send('/oauth/revoke', { method });
      assertError(response, 405, 'invalid_request');
      assert.equal(response.headers.get('allow'), 'POST', method);
    }
  });

  test('invalid_request for a token or credentials in the query, and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    const token = tokens.refresh_token;
    const { clientId: client_id, clientSecret: client_secret } = client;
    for (const [query, form] of [
      [{ token }, { client_id, client_secret }],
      [{ client_secret }, { token, client_id }],
      [{ client_id }, { token, client_secret }],
      [{ token }, { token, client_id, client_secret }],
    ] as const) {
      assertInvalidRequest(await service.post(`/oauth/revoke?${new URLSearchParams(query)}`, form));
    }
    await assertTokensWork(service, client, tokens);
  });
});

describe('the request may be sent as', () => {
  test('JSON', async () => {
    const { client, tokens } = await connect(service);
    const { clientId: client_id, clientSecret: client_secret } = client;
    const body = JSON.stringify({ token: tokens.refresh_token, client_id, client_secret });
    const headers = { 'content-type': 'application/json' };
    assertRevoked(await service.send('/oauth/revoke', { method: 'POST', body, headers }));
    await assertGrantRevoked(service, client, tokens);
  });

  test('HTTP Basic', async () => {
    const { client, tokens } = await connect(service);
    const authorization = basic(client.clientId, client.clientSecret);
    const form = { token: tokens.refresh_token };
    assertRevoked(await service.post('/oauth/revoke', form, { authorization }));
    await assertGrantRevoked(service, client, tokens);
  });

  test('HTTP Basic, but not with a client_secret in the body as well: invalid_request, and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    const { clientId, clientSecret: client_secret } = client;
    const authorization = basic(clientId, client_secret);
    const form = { token: tokens.refresh_token, client_secret };
    assertInvalidRequest(await service.post('/oauth/revoke', form, { authorization }));
    await assertTokensWork(service, client, tokens);
  });
});
