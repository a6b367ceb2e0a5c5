import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Connected, connect } from '../support/connected.ts';
import {
  assertGrantRevoked,
  assertInvalidClient,
  assertInvalidGrant,
  assertInvalidRequest,
  assertInvalidScope,
  assertInvalidToken,
  assertReused,
  assertRevoked,
  assertTokens,
  assertTokensWork,
  basic,
  textWithoutRequestId,
} from '../support/responses.ts';
import { DAY, HOUR, refreshForm, Service, type TestClient, type Tokens } from '../support/service.ts';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(() => service.stop());

/** Refreshes this many times and returns all tokens, oldest first. */
async function rotations({ client, tokens }: Connected, times: number): Promise<Tokens[]> {
  const all = [tokens];
  for (let i = 0; i < times; i++)
    all.push(assertTokens(await service.refresh(client, all.at(-1)!.refresh_token)));
  return all;
}

const disable = ({ clientId }: TestClient, disabled: boolean) =>
  service.app.store.applications.setDisabled(clientId, disabled, service.clock.ms);

describe('an active refresh token', () => {
  test('is exchanged for a new refresh token and a new access token', async () => {
    const { client, tokens } = await connect(service);
    const renewed = assertTokens(await service.refresh(client, tokens.refresh_token));
    assert.notEqual(renewed.refresh_token, tokens.refresh_token);
    assert.notEqual(renewed.access_token, tokens.access_token);
    await assertTokensWork(service, client, renewed);
  });

  test('works once: the old one is then refused', async () => {
    const { client, tokens } = await connect(service);
    assertTokens(await service.refresh(client, tokens.refresh_token));
    assertReused(await service.refresh(client, tokens.refresh_token));
  });

  test('leaves earlier access tokens valid until they expire', async () => {
    const connected = await connect(service);
    service.clock.advance(HOUR / 2);
    const [first, second] = await rotations(connected, 1);
    assert.equal((await service.userinfo(first!.access_token)).status, 200);
    service.clock.advance(HOUR / 2);
    assertInvalidToken(await service.userinfo(first!.access_token));
    assert.equal((await service.userinfo(second!.access_token)).status, 200);
  });

  test('rotates many times', async () => {
    const connected = await connect(service);
    const all = await rotations(connected, 20);
    assert.equal(new Set(all.map(({ refresh_token }) => refresh_token)).size, 21);
    await assertTokensWork(service, connected.client, all.at(-1)!);
  });

  test('can be sent as JSON and with HTTP Basic', async () => {
    const { client, tokens } = await connect(service);
    const body = JSON.stringify(refreshForm(client, tokens.refresh_token));
    const headers = { 'content-type': 'application/json' };
    const second = assertTokens(await service.send('/oauth/token', { method: 'POST', body, headers }));
    const form = { grant_type: 'refresh_token', refresh_token: second.refresh_token };
    const authorization = basic(client.clientId, client.clientSecret);
    assertTokens(await service.post('/oauth/token', form, { authorization }));
  });

  test('works one millisecond before 30 days have passed', async () => {
    const { client, tokens } = await connect(service);
    service.clock.advance(30 * DAY - 1);
    assertTokens(await service.refresh(client, tokens.refresh_token));
  });

  test('is refused when 30 days have passed', async () => {
    const { client, tokens } = await connect(service);
    service.clock.advance(30 * DAY);
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
  });

  test('gets a new 30 days at each rotation, to the millisecond', async () => {
    const connected = await connect(service);
    const { client } = connected;
    service.clock.advance(29 * DAY);
    const [, second] = await rotations(connected, 1);
    service.clock.advance(30 * DAY - 1);
    const third = assertTokens(await service.refresh(client, second!.refresh_token));
    service.clock.advance(30 * DAY);
    assertInvalidGrant(await service.refresh(client, third.refresh_token));
  });

  test('is not renewed by a refused request', async () => {
    const { client, tokens } = await connect(service);
    service.clock.advance(29 * DAY);
    assertInvalidScope(await service.refresh(client, tokens.refresh_token, { scope: 'unknown' }));
    service.clock.advance(DAY);
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
  });
});

describe('a consumed refresh token presented again', () => {
  test('is invalid_grant "already used", and the grant is revoked with every token', async () => {
    const connected = await connect(service);
    const { client } = connected;
    const [first, second] = await rotations(connected, 1);
    assertReused(await service.refresh(client, first!.refresh_token));
    assertInvalidToken(await service.userinfo(first!.access_token));
    await assertGrantRevoked(service, client, second!);
  });

  test('revokes the grant however many rotations ago it was used', async () => {
    const connected = await connect(service);
    const all = await rotations(connected, 5);
    assertReused(await service.refresh(connected.client, all[1]!.refresh_token));
    for (const tokens of all) assertInvalidToken(await service.userinfo(tokens.access_token));
    assertInvalidGrant(await service.refresh(connected.client, all.at(-1)!.refresh_token));
  });

  test('revokes the grant even after its own 30 days', async () => {
    const connected = await connect(service);
    service.clock.advance(29 * DAY);
    const [first, second] = await rotations(connected, 1);
    service.clock.advance(2 * DAY);
    assertReused(await service.refresh(connected.client, first!.refresh_token));
    assertInvalidGrant(await service.refresh(connected.client, second!.refresh_token));
  });

  test('says "already used" each time', async () => {
    const connected = await connect(service);
    const [first] = await rotations(connected, 1);
    for (let i = 0; i < 3; i++) assertReused(await service.refresh(connected.client, first!.refresh_token));
  });

  test('by another authenticated application revokes the grant as well', async () => {
    const connected = await connect(service);
    const [first, second] = await rotations(connected, 1);
    assertReused(await service.refresh(await service.createClient(), first!.refresh_token));
    await assertGrantRevoked(service, connected.client, second!);
  });

  for (const scope of ['profile', 'profile email', 'unknown', ' ']) {
    test(`with scope ${JSON.stringify(scope)} revokes the grant as well`, async () => {
      const connected = await connect(service);
      const [first, second] = await rotations(connected, 1);
      assertReused(await service.refresh(connected.client, first!.refresh_token, { scope }));
      await assertGrantRevoked(service, connected.client, second!);
    });
  }

  test('with a wider scope revokes the grant as well', async () => {
    const { client, tokens } = await connect(service, { scope: 'email' });
    const second = assertTokens(await service.refresh(client, tokens.refresh_token), 'email');
    assertReused(await service.refresh(client, tokens.refresh_token, { scope: 'profile email' }));
    await assertGrantRevoked(service, client, second);
  });

  test('with wrong credentials changes nothing', async () => {
    const connected = await connect(service);
    const { client } = connected;
    const [first, second] = await rotations(connected, 1);
    assertInvalidClient(await service.refresh(client, first!.refresh_token, { client_secret: 'wrong' }));
    assertInvalidClient(await service.refresh(client, first!.refresh_token, { client_id: 'unknown' }));
    assertInvalidRequest(await service.refresh(client, first!.refresh_token, { client_secret: '' }));
    await assertTokensWork(service, client, second!);
  });

  test('by a disabled application changes nothing', async () => {
    const connected = await connect(service);
    const [first, second] = await rotations(connected, 1);
    await disable(connected.client, true);
    assertInvalidClient(await service.refresh(connected.client, first!.refresh_token));
    await disable(connected.client, false);
    await assertTokensWork(service, connected.client, second!);
  });

  test('revokes only its own grant: another one of the same user and application works', async () => {
    const connected = await connect(service);
    const other = await service.tokens(connected.client, connected.visitor);
    const [first] = await rotations(connected, 1);
    assertReused(await service.refresh(connected.client, first!.refresh_token));
    await assertTokensWork(service, connected.client, other);
  });

  test('requires a new authorization', async () => {
    const connected = await connect(service);
    const { client, visitor } = connected;
    const [first] = await rotations(connected, 1);
    assertReused(await service.refresh(client, first!.refresh_token));
    await assertTokensWork(service, client, await service.tokens(client, visitor));
  });
});

describe('a valid refresh token ahead of its grant means that a backup was restored', () => {
  /** invalid_grant without "already used": as far as this database knows, it never was. */
  async function assertRefused(client: TestClient, ahead: string): Promise<void> {
    const response = await service.refresh(client, ahead);
    assertInvalidGrant(response);
    assert.equal(
      textWithoutRequestId(response),
      textWithoutRequestId(await service.refresh(client, 'garbage')),
    );
  }

  async function endedBy(grantId: string): Promise<unknown> {
    const [row] = await service.rows(`SELECT revoked_reason FROM grants WHERE id = '${grantId}'`);
    return row!.revoked_reason;
  }

  for (const generations of [1, 7]) {
    test(`by ${generations}: invalid_grant, and only this grant is revoked`, async () => {
      const connected = await connect(service);
      const { client, visitor } = connected;
      const other = await service.tokens(client, visitor);
      const [first, second] = await rotations(connected, 1);
      const { tokenSigner } = service.app.keys;
      const link = tokenSigner.verifyRefreshToken(second!.refresh_token)!;
      const generation = link.generation + generations;
      await assertRefused(client, tokenSigner.signRefreshToken({ ...link, generation }));
      assertInvalidToken(await service.userinfo(first!.access_token));
      await assertGrantRevoked(service, client, second!);
      assert.equal(await endedBy(link.grantId), 'database_restored');
      await assertTokensWork(service, client, other);
    });
  }

  test('of a code that is not yet exchanged: invalid_grant, and the code stops working', async () => {
    const { client, visitor } = await connect(service);
    const issued = await service.authorize(client, visitor);
    const { tokenSigner } = service.app.keys;
    const link = tokenSigner.verifyCode(issued.code)!;
    await assertRefused(client, tokenSigner.signRefreshToken({ ...link, generation: 1 }));
    assertInvalidGrant(await service.exchange(client, issued));
    assert.equal(await endedBy(link.grantId), 'database_restored');
  });

  test('with wrong credentials changes nothing', async () => {
    const { client, tokens } = await connect(service);
    const { tokenSigner } = service.app.keys;
    const link = tokenSigner.verifyRefreshToken(tokens.refresh_token)!;
    const ahead = tokenSigner.signRefreshToken({ ...link, generation: link.generation + 1 });
    assertInvalidClient(await service.refresh(client, ahead, { client_secret: 'wrong' }));
    await assertTokensWork(service, client, tokens);
  });
});

describe('an active refresh token of another application', () => {
  test('is invalid_grant without "already used", and changes nothing', async () => {
    const { client, tokens } = await connect(service);
    const response = await service.refresh(await service.createClient(), tokens.refresh_token);
    assertInvalidGrant(response);
    const garbage = await service.refresh(await service.createClient(), 'garbage');
    assert.equal(textWithoutRequestId(response), textWithoutRequestId(garbage));
    await assertTokensWork(service, client, tokens);
  });

  test('is invalid_grant even with an unknown or too wide scope', async () => {
    const { client, tokens } = await connect(service);
    const other = await service.createClient({ scope: 'email' });
    for (const scope of ['profile email', 'unknown']) {
      assertInvalidGrant(await service.refresh(other, tokens.refresh_token, { scope }));
    }
    await assertTokensWork(service, client, tokens);
  });
});

describe('invalid_client never changes a grant', () => {
  test('a wrong secret, an unknown id', async () => {
    const { client, tokens } = await connect(service);
    assertInvalidClient(await service.refresh(client, tokens.refresh_token, { client_secret: 'wrong' }));
    assertInvalidClient(await service.refresh(client, tokens.refresh_token, { client_id: 'unknown' }));
    await assertTokensWork(service, client, tokens);
  });

  test('a disabled application, until enabled again', async () => {
    const { client, tokens } = await connect(service);
    await disable(client, true);
    assertInvalidClient(await service.refresh(client, tokens.refresh_token));
    await disable(client, false);
    await assertTokensWork(service, client, tokens);
  });

  test('a deleted application', async () => {
    const { client, tokens } = await connect(service);
    await service.app.store.applications.delete(client.clientId);
    assertInvalidClient(await service.refresh(client, tokens.refresh_token));
  });
});

describe('invalid_grant', () => {
  test('for a disabled user, until enabled again', async () => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const tokens = await service.tokens(client, visitor);
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
    await service.app.store.users.setDisabled(visitor.user.id, false, service.clock.ms);
    await assertTokensWork(service, client, tokens);
  });

  test('for garbage and for another kind of credential', async () => {
    const { client, visitor, tokens } = await connect(service);
    const { code } = await service.authorize(client, visitor);
    for (const presented of [
      'x',
      '\0',
      code,
      tokens.access_token,
      code.replace('postern_code_', 'postern_rt_'),
      tokens.refresh_token.toUpperCase(),
      ` ${tokens.refresh_token}`,
      `${tokens.refresh_token}\n`,
    ]) {
      assertInvalidGrant(await service.refresh(client, presented));
    }
    await assertTokensWork(service, client, tokens);
  });

  test('after the grant was revoked', async () => {
    const { client, tokens } = await connect(service);
    assertRevoked(await service.revoke(client, tokens.refresh_token));
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
  });
});

describe('invalid_request', () => {
  for (const name of ['grant_type', 'refresh_token', 'client_id', 'client_secret']) {
    test(`when ${name} is missing or empty, and nothing changes`, async () => {
      const { client, tokens } = await connect(service);
      const { [name]: _, ...rest } = refreshForm(client, tokens.refresh_token);
      assertInvalidRequest(await service.post('/oauth/token', rest));
      assertInvalidRequest(await service.post('/oauth/token', { ...rest, [name]: '' }));
      await assertTokensWork(service, client, tokens);
    });
  }
});

describe('scope', () => {
  const claimsOf = async (tokens: Tokens): Promise<string[]> =>
    Object.keys((await service.userinfo(tokens.access_token)).body).toSorted();

  test('may narrow one access token; the grant keeps its scope', async () => {
    const { client, tokens } = await connect(service);
    const narrow = assertTokens(
      await service.refresh(client, tokens.refresh_token, { scope: 'email' }),
      'email',
    );
    assert.deepEqual(await claimsOf(narrow), ['email', 'email_verified', 'sub']);
    const other = assertTokens(
      await service.refresh(client, narrow.refresh_token, { scope: 'profile' }),
      'profile',
    );
    assert.deepEqual(await claimsOf(other), ['name', 'sub', 'updated_at']);
    const whole = assertTokens(await service.refresh(client, other.refresh_token));
    assert.deepEqual(await claimsOf(whole), ['email', 'email_verified', 'name', 'sub', 'updated_at']);
  });

  test('may name the whole grant in any order; the response has a fixed order', async () => {
    const { client, tokens } = await connect(service);
    assertTokens(
      await service.refresh(client, tokens.refresh_token, { scope: 'email  profile email' }),
      'profile email',
    );
  });

  test('empty counts as absent', async () => {
    const { client, tokens } = await connect(service);
    assertTokens(await service.refresh(client, tokens.refresh_token, { scope: '' }));
  });

  test('wider than the grant is invalid_scope even if registered, and nothing changes', async () => {
    const { client, tokens } = await connect(service, { scope: 'email' });
    for (const scope of ['profile', 'profile email', 'email profile']) {
      assertInvalidScope(await service.refresh(client, tokens.refresh_token, { scope }));
    }
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
    assertTokens(await service.refresh(client, tokens.refresh_token, { scope: 'email' }), 'email');
  });

  test('unknown is invalid_scope and nothing changes', async () => {
    const { client, tokens } = await connect(service);
    for (const scope of ['unknown', 'email unknown', 'EMAIL', 'email,profile', ' ', 'email\0']) {
      assertInvalidScope(await service.refresh(client, tokens.refresh_token, { scope }));
    }
    await assertTokensWork(service, client, tokens);
  });

  test('is checked after the refresh token', async () => {
    const { client, tokens } = await connect(service);
    assertInvalidGrant(await service.refresh(client, 'garbage', { scope: 'unknown' }));
    service.clock.advance(30 * DAY);
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token, { scope: 'profile email' }));
    assertInvalidGrant(await service.refresh(client, tokens.refresh_token, { scope: 'unknown' }));
  });
});
