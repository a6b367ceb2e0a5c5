import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { FAILURE_REASONS } from '../../src/dashboard/failure-explanations.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../../src/store/errors.ts';
import { afterAllTests } from '../support/after-all-tests.ts';
import { CALLBACK, Developer, pathOf } from '../support/developer.ts';
import {
  authorizePath,
  challengeOf,
  DAY,
  MINUTE,
  newVerifier,
  type Reply,
  SECOND,
  Service,
  type TestClient,
  type Visitor,
} from '../support/service.ts';

/** The visible text: the page without its tags. */
const readable = (page: string): string =>
  page
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');

const seen = new Set<string>();

describe('why a request failed', () => {
  let service: Service;
  let developer: Developer;
  let client: TestClient;
  let user: Visitor;

  before(async () => {
    service = await Service.start();
    developer = await Developer.arrive(service);
    user = await service.signedIn();
  });
  beforeEach(async () => {
    await developer.visitor.staySignedIn();
    await user.staySignedIn();
    client = await service.createClient({ ownerId: developer.visitor.user.id, redirectUris: [CALLBACK] });
  });
  after(() => service.stop());

  /** Opens the address that the error response names, as its owner, and reads the page behind it. */
  async function reasonOf(reply: Reply): Promise<string> {
    const uri = reply.body.error_uri ?? new URL(reply.headers.get('location')!).searchParams.get('error_uri');
    return pageOf(String(uri));
  }

  async function pageOf(uri: string): Promise<string> {
    const { pathname } = new URL(uri);
    const moved = await developer.get(pathname);
    assert.equal(moved.status, 303, `${uri} opens for the owner`);
    const shown = await developer.get(moved.headers.get('location')!);
    assert.equal(shown.status, 200);
    const id = pathname.split('/').at(-1);
    const [row] = await service.rows(`SELECT reason FROM request_log WHERE id = '${id}'`);
    seen.add(String(row!.reason));
    return readable(shown.text);
  }

  const post = (body: string, type: string, path = '/oauth/token') =>
    service.send(path, { method: 'POST', body, headers: { 'content-type': type } });

  it('a redirect_uri that differs is shown beside the right one, with what differs marked', async () => {
    const issued = await service.authorize(client, user);
    const reply = await service.exchange(client, issued, { redirect_uri: 'https://app.example/Callback/' });
    assert.match(await reasonOf(reply), /not the one that the code was issued for/);
    const moved = await developer.get(new URL(String(reply.body.error_uri)).pathname);
    const { text } = await developer.get(moved.headers.get('location')!);
    assert.ok(text.includes('id="sent">https://app.example/<mark class="sent">C</mark>allback<mark'));
    assert.ok(text.includes('id="expected">https://app.example/<mark class="expected">c</mark>allback'));
  });

  it('a redirect_uri that is not registered: from the error page to the entry', async () => {
    const wrong = { ...client, redirectUri: 'https://app.example/callback/' };
    const reply = await service.get(authorizePath(wrong, newVerifier()));
    const path = /href="(\/errors\/[^"]+)"/.exec(reply.text)![1]!;
    assert.match(
      await pageOf(service.url + path),
      /equal to none of the registered.*Sent.*callback \/ .*Expected/,
    );
  });

  it('a verifier: wrong, the challenge itself, malformed, missing', async () => {
    const issued = await service.authorize(client, user);
    const other = newVerifier();
    const wrong = await reasonOf(await service.exchange(client, issued, { code_verifier: other }));
    const [hashed, expected] = [challengeOf(other).slice(0, 8), challengeOf(issued.verifier).slice(0, 8)];
    assert.ok(wrong.includes(`hashes to ${hashed}…, the code was issued for ${expected}…`), wrong);
    const same = { code_verifier: challengeOf(issued.verifier) };
    assert.match(
      await reasonOf(await service.exchange(client, issued, same)),
      /is the code_challenge itself/,
    );
    const short = await service.exchange(client, issued, { code_verifier: 'short' });
    assert.match(await reasonOf(short), /43 to 128 characters .* this one has 5/);
    assert.match(
      await reasonOf(await service.exchange(client, issued, { code_verifier: '' })),
      /no code_verifier/,
    );
    assert.equal((await service.exchange(client, issued)).status, 200, 'and the code is still good');
  });

  it('a code: expired, used before, damaged, of another application, something else', async () => {
    const late = await service.authorize(client, user);
    service.clock.advance(5 * MINUTE + 12 * SECOND);
    assert.match(
      await reasonOf(await service.exchange(client, late)),
      /The code expired 12 s before this request/,
    );

    const twice = await service.authorize(client, user);
    await service.exchange(client, twice);
    service.clock.advance(3 * SECOND);
    const replay = await service.exchange(client, twice);
    assert.match(
      await reasonOf(replay),
      /This code was exchanged 3 s earlier from 127\.0\.0\.1\. .* revoked/,
    );
    const again = await service.exchange(client, twice, { code_verifier: newVerifier() });
    assert.match(await reasonOf(again), /The code was used before.*exchanged 3 s earlier/);

    const fresh = await service.authorize(client, user);
    const cut = { ...fresh, code: fresh.code.slice(0, -3) };
    assert.match(await reasonOf(await service.exchange(client, cut)), /looks like a code but is damaged/);
    const other = await service.createClient({ ownerId: developer.visitor.user.id });
    assert.match(await reasonOf(await service.exchange(other, fresh)), /issued to another application/);
    const { refresh_token } = (await service.exchange(client, fresh)).body as { refresh_token: string };
    const mixed = await service.exchange(client, { ...fresh, code: refresh_token });
    assert.match(await reasonOf(mixed), /What was sent is a refresh token, not a code/);
  });

  it('a refresh token: used before, however old, expired, revoked, not one at all', async () => {
    const { refresh_token: first } = await service.tokens(client, user);
    let latest = first;
    for (let i = 0; i < 3; i++) {
      service.clock.advance(SECOND);
      latest = String((await service.refresh(client, latest)).body.refresh_token);
    }
    service.clock.advance(40);
    const reuse = await reasonOf(await service.refresh(client, first));
    assert.match(reuse, /three rotations old: it was used 2 s earlier from 127\.0\.0\.1\. .* revoked/);
    assert.match(reuse, /single-flight/);
    assert.match(await reasonOf(await service.refresh(client, first)), /session that is over/);
    assert.match(
      await reasonOf(await service.refresh(client, latest)),
      /ended .* before this request, because an old/,
    );

    const gone = await service.tokens(client, user);
    await service.revoke(client, gone.refresh_token);
    assert.match(
      await reasonOf(await service.refresh(client, gone.refresh_token)),
      /your own call to \/oauth\/revoke/,
    );
    const old = await service.tokens(client, user);
    service.clock.advance(30 * DAY + 2 * MINUTE);
    await developer.visitor.staySignedIn();
    assert.match(
      await reasonOf(await service.refresh(client, old.refresh_token)),
      /expired 2 minutes before/,
    );
    assert.match(await reasonOf(await service.refresh(client, 'nonsense')), /never a refresh token/);
  });

  it('a secret: wrong, padded, removed, expired; and a disabled application', async () => {
    const made = await developer.createApplication();
    const newer = await developer.newSecret(made);
    const wrong = await service.refresh(made, 'x', { client_secret: 'postern_cs_something_else_altogether' });
    const words = await reasonOf(wrong);
    assert.match(words, /ends in …ther, is no secret of this application/);
    assert.ok(words.includes(`…${made.clientSecret.slice(-4)}`), 'and the current ones are named');
    const padded = await service.refresh(made, 'x', { client_secret: `${made.clientSecret}\n` });
    assert.match(await reasonOf(padded), /right, but a space or line break/);

    await developer.removeSecret(made);
    const removed = await reasonOf(await service.refresh(made, 'x'));
    const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(
      service.clock.ms,
    );
    assert.ok(removed.includes(`…${made.clientSecret.slice(-4)}, was removed on ${date}`), removed);

    await service.app.store.applications.rotateSecret(
      newer.clientId,
      'the next',
      service.clock.ms,
      service.clock.ms,
    );
    assert.match(await reasonOf(await service.refresh(newer, 'x')), /ended on .* after a newer one was made/);
    await developer.submit(pathOf(client), `${pathOf(client)}/disable`);
    assert.match(await reasonOf(await service.refresh(client, 'x')), /you have disabled the application/);
    const reply = await service.get(authorizePath(client, newVerifier()));
    const path = /href="(\/errors\/[^"]+)"/.exec(reply.text)![1]!;
    assert.match(await pageOf(service.url + path), /Nobody can connect to a disabled application/);
  });

  it('the shape of a request', async () => {
    const { clientId, clientSecret } = client;
    const own = `client_id=${clientId}`;
    const form = 'application/x-www-form-urlencoded';
    const basic = (id: string) => ({
      authorization: `Basic ${Buffer.from(`${id}:${clientSecret}`).toString('base64')}`,
    });
    const missing = await service.post('/oauth/token', {
      client_id: clientId,
      grant_type: 'authorization_code',
    });
    assert.match(await reasonOf(missing), /Missing or empty: code, redirect_uri/);
    const noSecret = await service.post('/oauth/revoke', { client_id: clientId, token: 'x' });
    assert.match(await reasonOf(noSecret), /Missing or empty: client_secret/);
    const type = await service.refresh(client, 'x', { grant_type: 'password' });
    assert.match(await reasonOf(type), /grant_type is “password”/);
    assert.match(await reasonOf(await post(`${own}&a=1&a=2`, form)), /more than once/);
    assert.match(await reasonOf(await post(`${own}&a=%`, form)), /percent sign/);
    const number = JSON.stringify({ client_id: clientId, code: 5 });
    assert.match(await reasonOf(await post(number, 'application/json')), /not a string/);
    assert.match(await reasonOf(await post(own, form, '/oauth/token?code=x')), /in its query/);
    const both = await service.post('/oauth/token', { client_secret: 'x' }, basic(clientId));
    assert.match(await reasonOf(both), /both in the Authorization header and in the body/);
    const two = await service.post('/oauth/token', { client_id: 'other' }, basic(clientId));
    assert.match(await reasonOf(two), /different client_ids/);
    const plain = await service.send('/oauth/token', {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'text/plain', ...basic(clientId) },
    });
    assert.match(await reasonOf(plain), /neither application\/x-www-form-urlencoded nor/);
    const broken = await service.send('/oauth/token', {
      method: 'POST',
      body: '[',
      headers: { 'content-type': 'application/json', ...basic(clientId) },
    });
    assert.match(await reasonOf(broken), /not an object/);
    const many = await service.send('/oauth/token', {
      method: 'POST',
      body: Array.from({ length: 1_001 }, (_, n) => `p${n}=1`).join('&'),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(clientId) },
    });
    assert.match(await reasonOf(many), /more than 1,000 parameters/);
  });

  it('scopes, on refreshing and at authorization, and the rest of an authorization request', async () => {
    const narrow = await service.createClient({
      ownerId: developer.visitor.user.id,
      redirectUris: [CALLBACK],
      scope: 'profile',
    });
    const { refresh_token } = await service.tokens(narrow, user);
    const more = await service.refresh(narrow, refresh_token, { scope: 'profile email' });
    assert.match(await reasonOf(more), /Asked for “profile email”, granted was “profile”/);
    const strange = await service.refresh(narrow, refresh_token, { scope: 'everything' });
    assert.match(await reasonOf(strange), /Asked for: “everything”/);

    const asked = async (change: Record<string, string>) =>
      reasonOf(await user.get(authorizePath(narrow, newVerifier(), change)));
    assert.match(await asked({ scope: 'email' }), /Asked for “email”, registered is “profile”/);
    assert.match(await asked({ response_type: 'token' }), /response_type is “token”/);
    assert.match(await asked({ code_challenge_method: 'plain' }), /method is “plain”/);
    assert.match(await asked({ code_challenge: 'abc' }), /43 characters of base64url; this one has 3/);
    assert.match(await asked({ code_challenge: '' }), /Missing or empty: code_challenge/);
    const denied = await user.decide(authorizePath(narrow, newVerifier()), 'deny');
    assert.match(await pageOf(new URL(denied).searchParams.get('error_uri')!), /chose Deny/);
    const none = await service.get(`/oauth/authorize?client_id=${narrow.clientId}`);
    const path = /href="(\/errors\/[^"]+)"/.exec(none.text)![1]!;
    assert.match(await pageOf(service.url + path), /redirect_uri is missing/);
  });

  it('a disabled user, a session that is gone', async () => {
    const visitor = await service.signedIn();
    const { refresh_token } = await service.tokens(client, visitor);
    await service.app.store.users.setDisabled(visitor.user.id, true, service.clock.ms);
    assert.match(await reasonOf(await service.refresh(client, refresh_token)), /disabled the user’s account/);
    await service.app.store.users.setDisabled(visitor.user.id, false, service.clock.ms);
    const link = service.app.keys.tokenSigner.verifyRefreshToken(refresh_token)!;
    const unknown = service.app.keys.tokenSigner.signRefreshToken({
      ...link,
      grantId: 'AAAAAAAAAAAAAAAAAAAAAA',
    });
    assert.match(await reasonOf(await service.refresh(client, unknown)), /no longer known/);
    const ahead = service.app.keys.tokenSigner.signRefreshToken({ ...link, generation: 9 });
    assert.match(
      await reasonOf(await service.refresh(client, ahead)),
      /newer than the service’s own records/,
    );
  });

  it('a failure of the service itself, or of its database', async (t) => {
    const { refresh_token } = await service.tokens(client, user);
    const failed = async (error: Error) => {
      const rotate = t.mock.method(service.app.store.grants, 'rotate', () => Promise.reject(error));
      const reply = await service.refresh(client, refresh_token);
      rotate.mock.restore();
      return [reply.status, await reasonOf(reply)] as const;
    };
    for (const [error, status, why] of [
      [new Error('for this test'), 500, /went wrong here, not in your application/],
      [new OutcomeUnknown('for this test'), 500, /may have taken effect or not/],
      [new DatabaseUnavailable('for this test'), 503, /Nothing was changed/],
    ] as const) {
      const [actualStatus, page] = await failed(error);
      assert.equal(actualStatus, status);
      assert.match(page, why);
    }
  });

  it('both rate limits', async () => {
    for (let i = 0; i < 30; i++) await service.revoke(client, 'x');
    assert.match(await reasonOf(await service.revoke(client, 'x')), /More requests came from this network/);
    const spent = await service.createClient({ ownerId: developer.visitor.user.id });
    const { counters } = service.app.store;
    const limit = { name: 'client', windowMs: MINUTE, max: 30 };
    for (let i = 0; i < 31; i++)
      await counters.hit(limit, spent.clientId, service.clock.ms, service.clock.ms);
    assert.match(await reasonOf(await service.revoke(spent, 'x')), /more authenticated requests/);
  });

  afterAllTests(() => {
    // Every reason has an explanation, and every reason occurred.
    assert.deepEqual(
      FAILURE_REASONS.filter((reason) => !seen.has(reason)),
      [],
    );
    assert.deepEqual(
      [...seen].filter((reason) => !FAILURE_REASONS.some((known) => known === reason)),
      [],
    );
  });
});
