import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AuthorizationCode } from 'simple-oauth2';
import { challengeOf, newVerifier, type TestClient } from '../support/service.ts';
import { CALLBACK, errorOf, newClient, openStage, pathOf, type Stage, spendLimit } from './stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(() => stage.service.stop());

type AuthorizationMethod = 'header' | 'body';

const clientOf = (
  { clientId, clientSecret }: TestClient,
  authorizationMethod: AuthorizationMethod = 'header',
): AuthorizationCode =>
  new AuthorizationCode({
    client: { id: clientId, secret: clientSecret },
    auth: {
      tokenHost: stage.service.url,
      tokenPath: '/oauth/token',
      authorizePath: '/oauth/authorize',
      revokePath: '/oauth/revoke',
    },
    options: { authorizationMethod },
  });

/** The library has no PKCE, but passes on additional parameters; its types do not allow them. */
async function authorize(client: AuthorizationCode, decision = 'allow') {
  const verifier = newVerifier();
  const request = {
    redirect_uri: CALLBACK,
    scope: ['profile', 'email'],
    state: 'xyz',
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
  };
  const url = client.authorizeURL(request);
  const back = new URL(await stage.visitor.decide(pathOf(stage.service, url), decision));
  const exchange = { code: back.searchParams.get('code') ?? '', redirect_uri: CALLBACK };
  return { back, exchange: { ...exchange, code_verifier: verifier } };
}

for (const method of ['header', 'body'] as const) {
  test(`simple-oauth2 with credentials in the ${method}: authorization to revocation`, async () => {
    const client = clientOf(await newClient(stage.service), method);
    const { exchange } = await authorize(client);
    const token = await client.getToken(exchange);
    assert.equal(token.expired(), false);
    const profile = await stage.service.userinfo(token.token.access_token as string);
    assert.equal(profile.body.sub, stage.visitor.user.id);

    const renewed = await token.refresh({ scope: 'email' });
    assert.equal(renewed.token.scope, 'email');
    await renewed.revokeAll();
    const after = await stage.service.userinfo(renewed.token.access_token as string);
    assert.equal(after.status, 401);
    await renewed.revokeAll(); // Twice is no error (RFC 7009 2.2).
  });
}

/** The error of @hapi/wreck for a response that is not a success. */
type Failure = Error & {
  output: { statusCode: number };
  data: { payload: { error: string }; headers: Record<string, string> };
};

test('simple-oauth2 handles a denial, invalid_grant and the rate limit', async () => {
  const registered = await newClient(stage.service);
  const client = clientOf(registered);
  const { back } = await authorize(client, 'deny');
  assert.equal(back.searchParams.get('error'), 'access_denied');

  const { exchange } = await authorize(client);
  await client.getToken(exchange);
  const replayed = (await errorOf(client.getToken(exchange), Error)) as Failure;
  assert.equal(replayed.output.statusCode, 400);
  assert.equal(replayed.data.payload.error, 'invalid_grant');

  await spendLimit(stage.service, registered);
  const limited = (await errorOf(client.getToken(exchange), Error)) as Failure;
  assert.equal(limited.output.statusCode, 429);
  assert.equal(limited.data.headers['retry-after'], '60');
});
