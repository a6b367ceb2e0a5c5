import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  authorizePath,
  hiddenFields,
  newVerifier,
  type Reply,
  Service,
  type TestClient,
  type Tokens,
  type Visitor,
} from '../support/service.ts';

const AT_ONCE = 25;
const ROUNDS = 50;

let service: Service;
let client: TestClient;
let visitor: Visitor;
before(async () => {
  service = await Service.start({ POSTERN_RATE_LIMIT: '1000000000' });
  visitor = await service.signedIn();
});
beforeEach(async () => {
  client = await service.createClient();
});
after(() => service.stop());

const together = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));

async function rounds(work: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await work(round);
}

/** Returns the only success; every other reply is the expected error. */
function onlyWinner(replies: readonly Reply[], message?: RegExp): Tokens {
  const winners = replies.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1, `${winners.length} of ${replies.length} succeeded`);
  for (const { status, body } of replies.filter((reply) => reply !== winners[0])) {
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    if (message) assert.match(String(body.error_description), message);
  }
  return winners[0]!.body as Tokens;
}

async function assertDead(tokens: Pick<Tokens, 'access_token' | 'refresh_token'>): Promise<void> {
  const [profile, refreshed] = await Promise.all([
    service.userinfo(tokens.access_token),
    service.refresh(client, tokens.refresh_token),
  ]);
  assert.deepEqual([profile.status, profile.body.error], [401, 'invalid_token']);
  assert.deepEqual([refreshed.status, refreshed.body.error], [400, 'invalid_grant']);
}

test(`${AT_ONCE} exchanges of one code at once: one succeeds, and its grant is revoked`, () =>
  rounds(async () => {
    const issued = await service.authorize(client, visitor);
    const replies = await together(AT_ONCE, () => service.exchange(client, issued));
    await assertDead(onlyWinner(replies));
  }));

test(`${AT_ONCE} refreshes of one token at once: one succeeds, and the grant is revoked`, () =>
  rounds(async () => {
    const first = await service.tokens(client, visitor);
    const replies = await together(AT_ONCE, () => service.refresh(client, first.refresh_token));
    await assertDead(onlyWinner(replies, /refresh token was already used/));
    const profile = await service.userinfo(first.access_token);
    assert.equal(profile.status, 401);
  }));

test('a wrong exchange does not affect a concurrent correct one', () =>
  rounds(async () => {
    const issued = await service.authorize(client, visitor);
    const wrong = { ...issued, verifier: newVerifier() };
    const replies = await together(8, (n) => service.exchange(client, n === 4 ? issued : wrong));
    const tokens = onlyWinner(replies);
    assert.equal((await service.userinfo(tokens.access_token)).status, 200);
    assert.equal((await service.refresh(client, tokens.refresh_token)).status, 200);
  }));

test('a refresh during a revocation: once the revocation is confirmed, no token of the grant works', () =>
  rounds(async (round) => {
    const first = await service.tokens(client, visitor);
    const refreshing = service.refresh(client, first.refresh_token);
    // Either may arrive first. A second refresh makes the reuse detection race as well.
    const second = round % 2 === 0 ? service.refresh(client, first.refresh_token) : undefined;
    const revoked = await service.revoke(client, first.refresh_token);
    assert.deepEqual([revoked.status, revoked.text], [200, '{"revoked":true}']);
    await assertDead(first);
    for (const reply of await Promise.all([refreshing, second])) {
      if (reply?.status === 200) await assertDead(reply.body as Tokens);
    }
  }));

test('refreshes in a row end when any of their tokens is revoked, at any point', () =>
  rounds(async (round) => {
    const first = await service.tokens(client, visitor);
    const issued: Tokens[] = [first];
    let confirmed = false;
    let afterwards = 0;
    const chain = async () => {
      for (let last = first; ; ) {
        const startedAfter = confirmed;
        const reply = await service.refresh(client, last.refresh_token);
        if (reply.status !== 200) return;
        if (startedAfter) afterwards++;
        last = reply.body as Tokens;
        issued.push(last);
      }
    };
    const running = chain();
    while (issued.length < 1 + (round % 5)) await new Promise(setImmediate);
    await service.revoke(client, first.refresh_token);
    confirmed = true;
    await running;
    assert.equal(afterwards, 0);
    for (const { access_token } of issued) assert.equal((await service.userinfo(access_token)).status, 401);
  }));

test('an access token in use is refused as soon as its revocation is confirmed', () =>
  rounds(async () => {
    const tokens = await service.tokens(client, visitor);
    const using = together(5, () => service.userinfo(tokens.access_token));
    await service.revoke(client, tokens.access_token);
    assert.equal((await service.userinfo(tokens.access_token)).status, 401);
    assert.equal((await service.refresh(client, tokens.refresh_token)).status, 200);
    for (const { status } of await using) assert.ok(status === 200 || status === 401);
  }));

test('a consent form posted many times at once issues one code, which works once', () =>
  rounds(async () => {
    const verifier = newVerifier();
    const page = await visitor.get(authorizePath(client, verifier));
    const form = { ...hiddenFields(page.text), decision: 'allow' };
    const replies = await together(10, () => visitor.post('/oauth/authorize', form));
    const codes = new Set(
      replies.map(({ status, headers }) => {
        assert.equal(status, 303);
        return new URL(headers.get('location')!).searchParams.get('code');
      }),
    );
    assert.equal(codes.size, 1);
    const [code] = codes;
    const exchanged = await service.exchange(client, { code: code!, verifier });
    assert.equal(exchanged.status, 200);

    // The form again, after its code was used: the screen is shown again, and no code is issued.
    const late = await visitor.post('/oauth/authorize', form);
    assert.match(late.headers.get('location')!, /^\/oauth\/authorize\?/);
    assert.equal((await service.userinfo(String(exchanged.body.access_token))).status, 200);
  }));

test('an application disabled during refreshes gets no tokens from requests sent afterwards', () =>
  rounds(async () => {
    const own = await service.createClient();
    const tokens = await service.tokens(own, visitor);
    const before = service.refresh(own, tokens.refresh_token);
    await service.app.store.applications.setDisabled(own.clientId, true, service.clock.ms);
    const late = await service.refresh(own, tokens.refresh_token);
    assert.deepEqual([late.status, late.body.error], [401, 'invalid_client']);
    const reply = await before;
    if (reply.status === 200)
      assert.equal((await service.userinfo(String(reply.body.access_token))).status, 401);
  }));
