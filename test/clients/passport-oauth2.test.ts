import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import express, { type ErrorRequestHandler } from 'express';
import session from 'express-session';
import { Passport } from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import { MINUTE, type TestClient } from '../support/service.ts';
import { newClient, openStage, pathOf, type Stage, spendLimit } from './stage.ts';

type Profile = { sub: string; name: string; email: string; email_verified: boolean };

/** A strategy for Postern as an application's developer would write it. */
class PosternStrategy extends OAuth2Strategy {
  /** No private field: passport works on objects that merely inherit from this one. */
  private readonly userinfo: string;

  constructor(issuer: string, client: TestClient, verify: OAuth2Strategy.VerifyFunction) {
    super(
      {
        authorizationURL: `${issuer}/oauth/authorize`,
        tokenURL: `${issuer}/oauth/token`,
        clientID: client.clientId,
        clientSecret: client.clientSecret,
        callbackURL: client.redirectUri,
        scope: ['profile', 'email'],
        pkce: true,
        state: true,
      },
      verify,
    );
    this.userinfo = `${issuer}/oauth/userinfo`;
    // The library would send the token in the query; Postern reads it from the header alone (RFC 6750 2.1).
    this._oauth2.useAuthorizationHeaderforGET(true);
  }

  refresh(refreshToken: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this._oauth2.getOAuthAccessToken(refreshToken, { grant_type: 'refresh_token' }, (error, accessToken) =>
      error ? reject(error) : resolve(accessToken!),
    );
    return promise;
  }

  override userProfile(accessToken: string, done: (error?: unknown, profile?: Profile) => void): void {
    this._oauth2.get(this.userinfo, accessToken, (error, body) =>
      error ? done(error) : done(null, JSON.parse(body as string)),
    );
  }
}

let stage: Stage;
let server: Server;
let origin: string;
let client: TestClient;
let strategy: PosternStrategy;

before(async () => {
  stage = await openStage();
  const app = express();
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = await newClient(stage.service, `${origin}/callback`);

  const passport = new Passport();
  strategy = new PosternStrategy(
    stage.service.url,
    client,
    (
      accessToken: string,
      refreshToken: string,
      profile: Profile,
      done: (error: unknown, user: object) => void,
    ) => done(null, { profile, accessToken, refreshToken }),
  );
  passport.use('postern', strategy);
  app.use(session({ secret: 'for this test', resave: false, saveUninitialized: false }));
  app.get('/login', passport.authenticate('postern'));
  app.get(
    '/callback',
    passport.authenticate('postern', { session: false, failureRedirect: '/refused' }),
    (request, response) => void response.json(request.user),
  );
  app.get('/refused', (_request, response) => void response.send('You said no.'));
  const explain: ErrorRequestHandler = (error, _request, response, _next) =>
    void response.status(502).json({ name: error.name, code: error.code, message: error.message });
  app.use(explain);
});
// The tests share one application: each gets a new rate-limit window.
beforeEach(() => stage.service.clock.advance(MINUTE));
after(async () => {
  server.close();
  await stage.service.stop();
});

/** Signs in at the Express application like a browser, and returns the response of its callback. */
async function signIn(decision = 'allow', change = (back: string) => back): Promise<Response> {
  const away = await fetch(`${origin}/login`, { redirect: 'manual' });
  const cookie = away.headers.getSetCookie()[0]!.split(';')[0]!;
  const back = await stage.visitor.decide(pathOf(stage.service, away.headers.get('location')!), decision);
  return fetch(change(back), { headers: { cookie } });
}

test('passport-oauth2 in Express: sign-in with profile, refresh', async () => {
  const reply = await signIn();
  assert.equal(reply.status, 200);
  const user = (await reply.json()) as { profile: Profile; refreshToken: string };
  assert.equal(user.profile.sub, stage.visitor.user.id);
  assert.equal(user.profile.email, stage.visitor.user.email);

  const renewed = await strategy.refresh(user.refreshToken);
  assert.equal((await stage.service.userinfo(renewed)).status, 200);
});

test('passport-oauth2 handles a denial at the consent screen', async () => {
  const reply = await signIn('deny');
  assert.equal(await reply.text(), 'You said no.');
});

test('passport-oauth2 handles invalid_grant and the rate limit', async () => {
  const refused = await signIn('allow', (back) => back.replace(/code=[^&]*/, 'code=forged'));
  assert.equal(refused.status, 502);
  const error = (await refused.json()) as { name: string; code: string };
  assert.equal(error.name, 'TokenError');
  assert.equal(error.code, 'invalid_grant');

  await spendLimit(stage.service, client);
  const limited = (await (await signIn()).json()) as { code: string; message: string };
  assert.equal(limited.code, 'rate_limit_exceeded');
  assert.match(limited.message, /Retry-After/);
});
