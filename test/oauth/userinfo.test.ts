import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import { type Connected, connect } from '../support/connected.ts';
import { rawRequest } from '../support/raw-request.ts';
import {
  assertError,
  assertInvalidToken,
  assertNotCached,
  assertTokens,
  RATE_LIMIT_HEADERS,
} from '../support/responses.ts';
import { HOUR, type Reply, Service, type TestUser } from '../support/service.ts';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(() => service.stop());

async function connectAs(user: TestUser, parameters: Record<string, string> = {}): Promise<Connected> {
  const client = await service.createClient();
  const visitor = await service.signedIn(user);
  return { client, visitor, tokens: await service.tokens(client, visitor, parameters) };
}

const challengeOf = (response: Reply): string => response.headers.get('www-authenticate') ?? '';

describe('the claims', () => {
  test("are those of the token's scope; sub is always present", async () => {
    const user = await service.createUser(undefined, 'Ada Lovelace');
    const profile = { name: 'Ada Lovelace', updated_at: Math.floor(service.clock.ms / 1000) };
    const email = { email: user.email, email_verified: true };
    const { client, visitor, tokens } = await connectAs(user);
    const response = await service.userinfo(tokens.access_token);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
    assertNotCached(response);
    assert.deepEqual(response.body, { sub: user.id, ...profile, ...email });
    for (const [scope, claims] of [
      ['profile', profile],
      ['email', email],
    ] as const) {
      const { access_token } = await service.tokens(client, visitor, { scope });
      assert.deepEqual((await service.userinfo(access_token)).body, { sub: user.id, ...claims });
    }
  });

  test('follow the scope of the token, not of its grant: a narrowed token returns fewer', async () => {
    const { client, tokens } = await connect(service);
    const narrow = assertTokens(
      await service.refresh(client, tokens.refresh_token, { scope: 'email' }),
      'email',
    );
    assert.deepEqual(Object.keys((await service.userinfo(narrow.access_token)).body), [
      'sub',
      'email',
      'email_verified',
    ]);
    assert.ok('name' in (await service.userinfo(tokens.access_token)).body);
  });

  test('leave out unknown values', async () => {
    const { tokens } = await connectAs(await service.createUser(undefined, null), { scope: 'profile' });
    const { body } = await service.userinfo(tokens.access_token);
    assert.deepEqual(Object.keys(body), ['sub', 'updated_at']);
  });

  test('include whether the address is verified, read live', async () => {
    const user = { id: newId(), email: `${newId().toLowerCase()}@example.com`, password: '' };
    const donor = await service.app.store.users.find((await service.createUser()).id);
    await service.app.store.users.create({
      ...user,
      emailVerified: false,
      name: null,
      passwordHash: donor!.passwordHash,
      now: service.clock.ms,
    });
    const { tokens } = await connectAs({ ...user, password: 'correct horse battery staple' });
    assert.equal((await service.userinfo(tokens.access_token)).body.email_verified, false);
    await service.app.store.users.verifyEmail(user.id, service.clock.ms);
    assert.equal((await service.userinfo(tokens.access_token)).body.email_verified, true);
  });

  test('contain any name unchanged', async () => {
    const name = '"Zoë" </script> \\ \u2028 😀 \u0007';
    const { tokens } = await connectAs(await service.createUser(undefined, name));
    assert.equal((await service.userinfo(tokens.access_token)).body.name, name);
  });
});

describe('the bearer token', () => {
  test('has a case-insensitive scheme', async () => {
    const { tokens } = await connect(service);
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  ']) {
      const authorization = `${scheme} ${tokens.access_token}`;
      assert.equal((await service.get('/oauth/userinfo', { authorization })).status, 200, scheme);
    }
  });

  test('works with HEAD as with GET', async () => {
    const { tokens } = await connect(service);
    const head = ['HEAD /oauth/userinfo HTTP/1.1', `Authorization: Bearer ${tokens.access_token}`];
    const response = await rawRequest(service, head);
    assert.equal(response.status, 200);
    assert.equal(response.text, '');
  });

  test('absent is 401 invalid_token, with a challenge without error=', async () => {
    for (const headers of [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: 'Basic eDp5' },
      { authorization: 'postern_at_x' },
    ]) {
      const response = await service.get('/oauth/userinfo', headers as Record<string, string>);
      assertInvalidToken(response);
      assert.doesNotMatch(challengeOf(response), /error=/);
    }
  });

  test('in the query or in a body is not read', async () => {
    const { tokens } = await connect(service);
    const { access_token } = tokens;
    const inQuery = await service.get(`/oauth/userinfo?access_token=${access_token}`);
    assertInvalidToken(inQuery);
    assert.doesNotMatch(challengeOf(inQuery), /error=/);
    const type = 'Content-Type: application/x-www-form-urlencoded';
    const inBody = await rawRequest(
      service,
      ['GET /oauth/userinfo HTTP/1.1', type],
      `access_token=${access_token}`,
    );
    assertInvalidToken(inBody);
    assert.doesNotMatch(challengeOf(inBody), /error=/);
    const posted = await service.post('/oauth/userinfo', { access_token });
    assertError(posted, 405, 'invalid_request');
    assert.equal(posted.headers.get('allow'), 'GET, HEAD');
  });

  test('in the query does not affect the one in the header', async () => {
    const { tokens } = await connect(service);
    const authorization = `Bearer ${tokens.access_token}`;
    assert.equal((await service.get('/oauth/userinfo?access_token=x', { authorization })).status, 200);
  });

  test('that is invalid is 401 invalid_token, with error= in the challenge', async () => {
    const { client, visitor, tokens } = await connect(service);
    const { code } = await service.authorize(client, visitor);
    const { access_token, refresh_token } = tokens;
    for (const token of [
      'x',
      '"',
      'a'.repeat(4000),
      code,
      refresh_token,
      refresh_token.replace('postern_rt_', 'postern_at_'),
      `${access_token}A`,
      access_token.slice(0, -1),
      `${access_token} ${access_token}`,
      `${access_token},`,
      access_token.toLowerCase(),
    ]) {
      const response = await service.userinfo(token);
      assertInvalidToken(response);
      assert.match(challengeOf(response), /error="invalid_token"/);
    }
    assert.equal((await service.userinfo(access_token)).status, 200);
  });

  test('with any character changed is refused', async () => {
    const { tokens } = await connect(service);
    const { access_token } = tokens;
    const places = Array.from({ length: access_token.length }, (_, index) => index);
    const responses = await Promise.all(
      places.map((index) => {
        const other = access_token[index] === 'A' ? 'B' : 'A';
        return service.userinfo(access_token.slice(0, index) + other + access_token.slice(index + 1));
      }),
    );
    for (const response of responses) assertInvalidToken(response);
  });

  test('that is valid, but ahead of its grant or without one, is refused', async () => {
    const { tokens } = await connect(service);
    const { tokenSigner } = service.app.keys;
    const opened = tokenSigner.verifyAccessToken(tokens.access_token)!;
    for (const forged of [
      { ...opened, generation: opened.generation + 1 },
      { ...opened, grantId: newId() },
      { ...opened, userId: newId() },
    ]) {
      assertInvalidToken(await service.userinfo(tokenSigner.signAccessToken(forged)));
    }
  });
});

describe('an access token', () => {
  test('works one millisecond before an hour has passed, and is invalid_token when it has', async () => {
    const { tokens } = await connect(service);
    service.clock.advance(HOUR - 1);
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
    service.clock.advance(1);
    const response = await service.userinfo(tokens.access_token);
    assertInvalidToken(response);
    assert.match(challengeOf(response), /error="invalid_token"/);
  });

  test('of a rotation is valid for an hour from then', async () => {
    const { client, tokens } = await connect(service);
    service.clock.advance(HOUR - 1);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    service.clock.advance(HOUR - 1);
    assertInvalidToken(await service.userinfo(tokens.access_token));
    assert.equal((await service.userinfo(second.access_token)).status, 200);
    service.clock.advance(1);
    assertInvalidToken(await service.userinfo(second.access_token));
  });

  test('of a disabled user is refused, until enabled again', async () => {
    const user = await service.createUser();
    const { tokens } = await connectAs(user);
    await service.app.store.users.setDisabled(user.id, true, service.clock.ms);
    assertInvalidToken(await service.userinfo(tokens.access_token));
    await service.app.store.users.setDisabled(user.id, false, service.clock.ms);
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
  });

  test('of a disabled application is refused, until enabled again', async () => {
    const { client, tokens } = await connect(service);
    const { applications } = service.app.store;
    await applications.setDisabled(client.clientId, true, service.clock.ms);
    assertInvalidToken(await service.userinfo(tokens.access_token));
    await applications.setDisabled(client.clientId, false, service.clock.ms);
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
  });

  test('of a deleted application is refused', async () => {
    const { client, tokens } = await connect(service);
    await service.app.store.applications.delete(client.clientId);
    assertInvalidToken(await service.userinfo(tokens.access_token));
  });
});

test('every invalid token gets the same response', async () => {
  const { client, tokens } = await connect(service);
  const garbage = await service.userinfo('garbage');
  await service.revoke(client, tokens.access_token);
  const revoked = await service.userinfo(tokens.access_token);
  service.clock.advance(HOUR);
  const expired = await service.userinfo(tokens.access_token);
  for (const response of [revoked, expired]) {
    assert.equal(response.text, garbage.text);
    assert.equal(challengeOf(response), challengeOf(garbage));
  }
});

test('405 with Allow for every method but GET and HEAD', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await service.send('/oauth/userinfo', { method });
    assertError(response, 405, 'invalid_request');
    assert.equal(response.headers.get('allow'), 'GET, HEAD');
  }
});

test('userinfo has no rate limit', async () => {
  const { tokens } = await connect(service);
  for (let i = 0; i < 40; i++) {
    const response = await service.userinfo(tokens.access_token);
    assert.equal(response.status, 200);
    for (const name of RATE_LIMIT_HEADERS) assert.equal(response.headers.get(name), null);
  }
});
