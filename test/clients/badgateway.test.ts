import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  generateCodeVerifier,
  OAuth2Client,
  OAuth2Error,
  OAuth2Fetch,
  OAuth2HttpError,
} from '@badgateway/oauth2-client';
import type { TestClient } from '../support/service.ts';
import { CALLBACK, errorOf, newClient, openStage, pathOf, type Stage, spendLimit } from './stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(() => stage.service.stop());

/** Endpoints and authentication method come from the metadata. */
const clientOf = ({ clientId, clientSecret }: TestClient): OAuth2Client =>
  new OAuth2Client({ server: stage.service.url, clientId, clientSecret });

async function authorize(client: OAuth2Client, decision = 'allow') {
  const codeVerifier = await generateCodeVerifier();
  const request = { redirectUri: CALLBACK, state: 'some state & more', codeVerifier };
  const url = await client.authorizationCode.getAuthorizeUri(request);
  const back = await stage.visitor.decide(pathOf(stage.service, url), decision);
  return client.authorizationCode.getTokenFromCodeRedirect(back, request);
}

test('@badgateway/oauth2-client: discovery to revocation', async () => {
  const client = clientOf(await newClient(stage.service));
  const token = await authorize(client);
  const renewed = await client.refreshToken(token);
  assert.notEqual(renewed.refreshToken, token.refreshToken);

  const wrapper = new OAuth2Fetch({ client, getNewToken: () => renewed, scheduleRefresh: false });
  const profile = await wrapper.fetch(`${stage.service.url}/oauth/userinfo`);
  assert.equal(((await profile.json()) as { sub: string }).sub, stage.visitor.user.id);

  await client.revoke(renewed, 'refresh_token');
  const error = await errorOf(client.refreshToken(renewed), OAuth2HttpError);
  assert.equal(error.oauth2Code, 'invalid_grant');
  assert.equal(error.httpCode, 400);
});

test('@badgateway/oauth2-client refreshes when userinfo returns 401', async () => {
  const client = clientOf(await newClient(stage.service));
  const token = await authorize(client);
  await client.revoke(token, 'access_token');
  const wrapper = new OAuth2Fetch({ client, getNewToken: () => token, scheduleRefresh: false });
  const profile = await wrapper.fetch(`${stage.service.url}/oauth/userinfo`);
  assert.equal(profile.status, 200);
});

test('@badgateway/oauth2-client handles a denial, a wrong secret and the rate limit', async () => {
  const registered = await newClient(stage.service);
  const denied = await errorOf(authorize(clientOf(registered), 'deny'), OAuth2Error);
  assert.equal(denied.oauth2Code, 'access_denied');
  assert.equal(denied.message, 'The user refused the request.');

  const token = { accessToken: 'any', refreshToken: 'any', expiresAt: null };
  const wrong = clientOf({ ...registered, clientSecret: 'wrong' });
  assert.equal((await errorOf(wrong.refreshToken(token), OAuth2HttpError)).oauth2Code, 'invalid_client');

  await spendLimit(stage.service, registered);
  const limited = await errorOf(clientOf(registered).refreshToken(token), OAuth2HttpError);
  assert.equal(limited.httpCode, 429);
  assert.equal(limited.response.headers.get('retry-after'), '60');
});
