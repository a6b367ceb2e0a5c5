import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect } from '../support/connected.ts';
import {
  assertAlive,
  assertCut,
  assertError,
  assertInvalidClient,
  assertInvalidGrant,
  assertInvalidRequest,
  assertInvalidToken,
  assertNotCached,
  assertReused,
  assertRevoked,
  assertTokens,
  basic,
  saidBy,
} from '../support/responses.ts';
import { DAY, HOUR, newVerifier, type Reply, Service } from '../support/service.ts';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(() => service.stop());

describe('revoking a refresh token', () => {
  test('ends it and the access token issued with it at once', async () => {
    const { client, tokens } = await connect(service);
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    assertInvalidToken(await service.userinfo(tokens.access_token));
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
  });

  test('ends the whole family: earlier access tokens too', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(client, second.refresh_token));
    assertInvalidToken(await service.userinfo(tokens.access_token));
    await assertCut(service, client, second);
  });

  test('that was consumed ends the whole family', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    await assertCut(service, client, second);
    assertReused(await service.refresh(client, tokens.refresh_token));
  });

  test('ends that family alone', async () => {
    const { client, visitor, tokens } = await connect(service);
    const other = await service.tokens(client, visitor);
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    await assertAlive(service, client, other);
  });

  test('works while the user is disabled, and stays when enabled again', async () => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const tokens = await service.tokens(client, visitor);
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    await service.app.store.users.setDisabled(visitor.user.id, false, service.clock.ms);
    await assertCut(service, client, tokens);
  });
});

describe('revoking an access token', () => {
  test('ends it alone: the refresh token and the tokens it buys live', async () => {
    const { client, tokens } = await connect(service);
    assertRevoked(await service.revoke(client, tokens.access_token));
    assertInvalidToken(await service.userinfo(tokens.access_token));
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assert.equal((await service.userinfo(second.access_token)).status, 200);
    assertInvalidToken(await service.userinfo(tokens.access_token));
  });

  test('leaves the earlier access tokens of its family alone', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(client, second.access_token));
    assertInvalidToken(await service.userinfo(second.access_token));
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
  });

  test('lasts as long as it would have lived', async () => {
    const { client, tokens } = await connect(service);
    assertRevoked(await service.revoke(client, tokens.access_token));
    service.clock.advance(HOUR - 1);
    await service.app.store.revokedAccessTokens.sweep(1000, service.clock.ms);
    assertInvalidToken(await service.userinfo(tokens.access_token));
  });
});

describe('the token_type_hint', () => {
  for (const hint of ['access_token', 'refresh_token', 'unknown', '']) {
    test(`${JSON.stringify(hint)} is only a hint: both kinds are revoked under it`, async () => {
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
    test(`is answered alike and stays: ${kind}`, async () => {
      const { client, tokens } = await connect(service);
      assertRevoked(await service.revoke(await service.createClient(), tokens[kind]));
      await assertAlive(service, client, tokens);
    });
  }

  test('is answered alike and stays: a consumed refresh token', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    assertRevoked(await service.revoke(await service.createClient(), tokens.refresh_token));
    await assertAlive(service, client, second);
  });
});

test('an authorization code is no token: answered alike, and it can still be exchanged', async () => {
  const { client, visitor } = await connect(service);
  const issued = await service.authorize(client, visitor);
  assertRevoked(await service.revoke(client, issued.code));
  assertTokens(await service.exchange(client, issued));
});

test('every answer is byte for byte the same, whatever the token was', async () => {
  const { client, visitor, tokens } = await connect(service);
  const expired = await service.tokens(client, visitor);
  service.clock.advance(30 * DAY);
  const ours = await connect(service);
  const others = await connect(service);
  const rotated = assertTokens(await service.refresh(ours.client, ours.tokens.refresh_token));
  const code = await service.authorize(ours.client, ours.visitor);
  const answers = new Map<string, Reply>();
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
    answers.set(name, await service.revoke(ours.client, token));
  }
  const seen = ({ status, headers, text }: Reply) => {
    const same = [...headers].filter(([name]) => !['date', 'ratelimit-remaining'].includes(name));
    return { status, text, headers: same };
  };
  const [first] = answers.values();
  assert.equal(first!.text, '{"revoked":true}');
  assertNotCached(first!);
  for (const [name, answer] of answers) assert.deepEqual(seen(answer), seen(first!), name);
});

describe('errors come before the answer that is always the same', () => {
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
      await assertAlive(service, client, tokens);
    });
  }

  test('invalid_client for wrong credentials, and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    for (const token of [tokens.refresh_token, tokens.access_token]) {
      assertInvalidClient(await service.revoke(client, token, { client_secret: 'wrong' }));
      assertInvalidClient(await service.revoke(client, token, { client_id: 'unknown' }));
    }
    await assertAlive(service, client, tokens);
  });

  test('invalid_client for a disabled application, and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    const { applications } = service.app.store;
    await applications.setDisabled(client.clientId, true, service.clock.ms);
    assertInvalidClient(await service.revoke(client, tokens.refresh_token));
    await applications.setDisabled(client.clientId, false, service.clock.ms);
    await assertAlive(service, client, tokens);
  });

  test('a missing token before wrong credentials', async () => {
    const wrong = { client_id: 'unknown', client_secret: 'wrong' };
    assertInvalidRequest(await service.post('/oauth/revoke', wrong));
    assertInvalidClient(await service.post('/oauth/revoke', { ...wrong, token: 'x' }));
  });

  test('invalid_client says the same for a live token and for garbage', async () => {
    const { client, tokens } = await connect(service);
    const live = await service.revoke(client, tokens.refresh_token, { client_secret: 'wrong' });
    const garbage = await service.revoke(client, 'garbage', { client_secret: 'wrong' });
    assert.equal(saidBy(live), saidBy(garbage));
    assert.equal(live.status, garbage.status);
  });

  test('405 with Allow for every method but POST', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await service.send('/oauth/revoke', { method });
      assertError(answer, 405, 'invalid_request');
      assert.equal(answer.headers.get('allow'), 'POST', method);
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
    await assertAlive(service, client, tokens);
  });
});

describe('the ways to send it', () => {
  test('JSON', async () => {
    const { client, tokens } = await connect(service);
    const { clientId: client_id, clientSecret: client_secret } = client;
    const body = JSON.stringify({ token: tokens.refresh_token, client_id, client_secret });
    const headers = { 'content-type': 'application/json' };
    assertRevoked(await service.send('/oauth/revoke', { method: 'POST', body, headers }));
    await assertCut(service, client, tokens);
  });

  test('HTTP Basic', async () => {
    const { client, tokens } = await connect(service);
    const authorization = basic(client.clientId, client.clientSecret);
    const form = { token: tokens.refresh_token };
    assertRevoked(await service.post('/oauth/revoke', form, { authorization }));
    await assertCut(service, client, tokens);
  });

  test('HTTP Basic together with a client_secret in the body is invalid_request, and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    const { clientId, clientSecret: client_secret } = client;
    const authorization = basic(clientId, client_secret);
    const form = { token: tokens.refresh_token, client_secret };
    assertInvalidRequest(await service.post('/oauth/revoke', form, { authorization }));
    await assertAlive(service, client, tokens);
  });
});
