import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import type { TestClient } from '../support/service.ts';
import { CALLBACK, errorOf, newClient, openStage, pathOf, type Stage, spendLimit } from './stage.ts';

const insecure = { [oauth.allowInsecureRequests]: true };

let stage: Stage;
let server: oauth.AuthorizationServer;
before(async () => {
  stage = await openStage();
  const issuer = new URL(stage.service.url);
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  server = await oauth.processDiscoveryResponse(issuer, response);
});
after(() => stage.service.stop());

type Party = { readonly client: oauth.Client; readonly authentication: oauth.ClientAuth };

const party = ({ clientId, clientSecret }: TestClient): Party => ({
  client: { client_id: clientId },
  authentication: oauth.ClientSecretBasic(clientSecret),
});

async function authorize({ client }: Party, decision = 'allow') {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint!);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  }).toString();
  const back = await stage.visitor.decide(pathOf(stage.service, url), decision);
  return { verifier, read: () => oauth.validateAuthResponse(server, client, new URL(back), state) };
}

async function exchange({ client, authentication }: Party, parameters: URLSearchParams, verifier: string) {
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    parameters,
    CALLBACK,
    verifier,
    insecure,
  );
  return oauth.processAuthorizationCodeResponse(server, client, response);
}

async function refresh({ client, authentication }: Party, refreshToken: string) {
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    authentication,
    refreshToken,
    insecure,
  );
  return oauth.processRefreshTokenResponse(server, client, response);
}

test('oauth4webapi: discovery to revocation', async () => {
  const me = party(await newClient(stage.service));
  const { verifier, read } = await authorize(me);
  const tokens = await exchange(me, read(), verifier);
  const renewed = await refresh(me, tokens.refresh_token!);

  const reply = await oauth.userInfoRequest(server, me.client, renewed.access_token, insecure);
  const claims = await oauth.processUserInfoResponse(server, me.client, stage.visitor.user.id, reply);
  assert.equal(claims.email, stage.visitor.user.email);

  const { client, authentication } = me;
  const revoked = await oauth.revocationRequest(
    server,
    client,
    authentication,
    renewed.refresh_token!,
    insecure,
  );
  await oauth.processRevocationResponse(revoked);
  const error = await errorOf(refresh(me, renewed.refresh_token!), oauth.ResponseBodyError);
  assert.equal(error.error, 'invalid_grant');
});

test('oauth4webapi handles a denial at the consent screen', async () => {
  const { read } = await authorize(party(await newClient(stage.service)), 'deny');
  const error = await errorOf(Promise.resolve().then(read), oauth.AuthorizationResponseError);
  assert.equal(error.error, 'access_denied');
});

test('oauth4webapi handles invalid_grant and the rate limit', async () => {
  const registered = await newClient(stage.service);
  const me = party(registered);
  const { read } = await authorize(me);
  const error = await errorOf(exchange(me, read(), 'x'.repeat(43)), oauth.ResponseBodyError);
  assert.equal(error.error, 'invalid_grant');
  assert.equal(error.status, 400);

  await spendLimit(stage.service, registered);
  const limited = await errorOf(refresh(me, 'any'), oauth.ResponseBodyError);
  assert.equal(limited.status, 429);
  assert.equal(limited.response.headers.get('retry-after'), '60');
});
