import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as arctic from 'arctic';
import type { TestClient } from '../support/service.ts';
import { CALLBACK, errorOf, newClient, openStage, pathOf, type Stage, spendLimit } from './stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(() => stage.service.stop());

const endpoint = (name: string): string => `${stage.service.url}/oauth/${name}`;
const clientOf = ({ clientId, clientSecret }: TestClient): arctic.OAuth2Client =>
  new arctic.OAuth2Client(clientId, clientSecret, CALLBACK);

async function authorize(client: arctic.OAuth2Client, decision = 'allow') {
  const verifier = arctic.generateCodeVerifier();
  const url = client.createAuthorizationURLWithPKCE(
    endpoint('authorize'),
    arctic.generateState(),
    arctic.CodeChallengeMethod.S256,
    verifier,
    ['profile', 'email'],
  );
  const back = new URL(await stage.visitor.decide(pathOf(stage.service, url), decision));
  return { verifier, response: back.searchParams };
}

test('arctic: authorization to revocation', async () => {
  const client = clientOf(await newClient(stage.service));
  const { verifier, response } = await authorize(client);
  const tokens = await client.validateAuthorizationCode(endpoint('token'), response.get('code')!, verifier);
  assert.equal(tokens.tokenType(), 'Bearer');
  assert.deepEqual(tokens.scopes(), ['profile', 'email']);
  assert.ok(tokens.accessTokenExpiresAt() > new Date());
  const profile = await stage.service.userinfo(tokens.accessToken());
  assert.equal(profile.body.sub, stage.visitor.user.id);

  const renewed = await client.refreshAccessToken(endpoint('token'), tokens.refreshToken(), ['email']);
  assert.deepEqual(renewed.scopes(), ['email']);
  await client.revokeToken(endpoint('revoke'), renewed.refreshToken());
  const error = await errorOf(
    client.refreshAccessToken(endpoint('token'), renewed.refreshToken(), []),
    arctic.OAuth2RequestError,
  );
  assert.equal(error.code, 'invalid_grant');
});

test('arctic handles a denial, a wrong secret and the rate limit', async () => {
  const registered = await newClient(stage.service);
  const { response } = await authorize(clientOf(registered), 'deny');
  assert.equal(response.get('error'), 'access_denied');

  const wrong = clientOf({ ...registered, clientSecret: 'wrong' });
  const refused = await errorOf(
    wrong.refreshAccessToken(endpoint('token'), 'any', []),
    arctic.OAuth2RequestError,
  );
  assert.equal(refused.code, 'invalid_client');
  assert.ok(refused.description);

  await spendLimit(stage.service, registered);
  const limited = await errorOf(
    clientOf(registered).refreshAccessToken(endpoint('token'), 'any', []),
    arctic.UnexpectedResponseError,
  );
  assert.equal(limited.status, 429);
});
