import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as openid from 'openid-client';
import type { TestClient } from '../support/service.ts';
import { CALLBACK, errorOf, newClient, openStage, pathOf, type Stage, spendLimit } from './stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(() => stage.service.stop());

const discover = (client: TestClient, authentication?: openid.ClientAuth): Promise<openid.Configuration> =>
  openid.discovery(new URL(stage.service.url), client.clientId, client.clientSecret, authentication, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });

async function authorize(config: openid.Configuration, decision = 'allow') {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: 'profile email',
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
  });
  const back = await stage.visitor.decide(pathOf(stage.service, url), decision);
  return { back: new URL(back), checks: { pkceCodeVerifier, expectedState } };
}

for (const [name, authentication] of [
  ['client_secret_post', openid.ClientSecretPost],
  ['client_secret_basic', openid.ClientSecretBasic],
] as const) {
  test(`openid-client with ${name}: discovery to revocation`, async () => {
    const client = await newClient(stage.service);
    const config = await discover(client, authentication(client.clientSecret));
    assert.equal(config.serverMetadata().supportsPKCE(), true);

    const { back, checks } = await authorize(config);
    const tokens = await openid.authorizationCodeGrant(config, back, checks);
    assert.equal(tokens.scope, 'profile email');
    assert.equal(tokens.expires_in, 3600);
    const claims = await openid.fetchUserInfo(config, tokens.access_token, stage.visitor.user.id);
    assert.equal(claims.email, stage.visitor.user.email);
    assert.equal(claims.email_verified, true);

    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
    assert.notEqual(renewed.refresh_token, tokens.refresh_token);
    const narrowed = await openid.refreshTokenGrant(config, renewed.refresh_token!, { scope: 'email' });
    assert.equal(narrowed.scope, 'email');

    await openid.tokenRevocation(config, narrowed.refresh_token!, { token_type_hint: 'refresh_token' });
    const refused = await errorOf(
      openid.fetchUserInfo(config, narrowed.access_token, stage.visitor.user.id),
      openid.WWWAuthenticateChallengeError,
    );
    assert.equal(refused.status, 401);
    assert.equal(refused.cause[0]?.parameters.error, 'invalid_token');
  });
}

test('openid-client handles a denial at the consent screen', async () => {
  const config = await discover(await newClient(stage.service));
  const { back, checks } = await authorize(config, 'deny');
  const error = await errorOf(
    openid.authorizationCodeGrant(config, back, checks),
    openid.AuthorizationResponseError,
  );
  assert.equal(error.error, 'access_denied');
  assert.equal(error.error_description, 'The user refused the request.');
});

test('openid-client handles invalid_grant, a wrong secret and the rate limit', async () => {
  const client = await newClient(stage.service);
  const config = await discover(client);
  const { back, checks } = await authorize(config);
  const { refresh_token: first = '' } = await openid.authorizationCodeGrant(config, back, checks);
  await openid.refreshTokenGrant(config, first);

  const reused = await errorOf(openid.refreshTokenGrant(config, first), openid.ResponseBodyError);
  assert.equal(reused.error, 'invalid_grant');
  assert.match(reused.error_description!, /already used/);

  const wrong = await discover({ ...client, clientSecret: 'wrong' });
  const refused = await errorOf(openid.refreshTokenGrant(wrong, first), openid.WWWAuthenticateChallengeError);
  assert.equal(refused.status, 401);
  assert.equal(refused.cause[0]?.scheme, 'basic');

  await spendLimit(stage.service, client);
  const limited = await errorOf(openid.refreshTokenGrant(config, first), openid.ResponseBodyError);
  assert.equal(limited.status, 429);
  assert.equal(limited.error, 'rate_limit_exceeded');
  assert.equal(limited.response.headers.get('retry-after'), '60');
});
