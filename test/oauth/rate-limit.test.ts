import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect, somebody } from '../support/connected.ts';
import { rawRequest } from '../support/raw-request.ts';
import {
  assertError,
  assertInvalidClient,
  assertInvalidGrant,
  assertInvalidRequest,
  assertRevoked,
  assertTokens,
  assertTokensWork,
  basic,
  rateLimitOf,
} from '../support/responses.ts';
import {
  exchangeForm,
  MINUTE,
  type Reply,
  refreshForm,
  SECOND,
  Service,
  type TestClient,
} from '../support/service.ts';

let service: Service;
let proxied: Service;
before(async () => {
  [service, proxied] = await Promise.all([Service.start(), Service.start({ POSTERN_TRUST_PROXY: 'true' })]);
});
after(() => Promise.all([service.stop(), proxied.stop()]));

/** A request with response 200 that changes nothing. */
const ask = (client: TestClient): Promise<Reply> => service.revoke(client, 'nothing');

async function spend(client: TestClient, times: number): Promise<Reply> {
  let last = await ask(client);
  for (let i = 1; i < times; i++) last = await ask(client);
  return last;
}

function assertLimited(response: Reply, seconds?: number): void {
  assertError(response, 429, 'rate_limit_exceeded');
  const [limit, remaining, reset] = rateLimitOf(response);
  assert.equal(limit, 30);
  assert.equal(remaining, 0);
  assert.equal(response.headers.get('retry-after'), String(reset));
  if (seconds !== undefined) assert.equal(reset, seconds);
}

describe('the three headers', () => {
  test('contain the limit, the requests left after this one, and whole seconds to the end of the window', async () => {
    const client = await service.createClient();
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 29, 60]);
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 28, 60]);
    service.clock.advance(1);
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 27, 60]);
    service.clock.advance(SECOND);
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 26, 59]);
    service.clock.advance(58_998);
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 25, 1]);
  });

  test('are whole numbers in decimal digits', async () => {
    const response = await ask(await service.createClient());
    for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) {
      assert.match(response.headers.get(name) ?? '', /^\d+$/);
    }
    assert.equal(response.headers.get('retry-after'), null);
  });

  test('are in the responses of both grant types and of revocation', async () => {
    const client = await service.createClient();
    const issued = await service.authorize(client, await somebody(service));
    const exchanged = await service.exchange(client, issued);
    assert.deepEqual(rateLimitOf(exchanged), [30, 29, 60]);
    const { refresh_token } = assertTokens(exchanged);
    const refreshed = await service.refresh(client, refresh_token);
    assert.deepEqual(rateLimitOf(refreshed), [30, 28, 60]);
    assert.deepEqual(rateLimitOf(await service.revoke(client, refresh_token)), [30, 27, 60]);
  });

  test('are absent without a client_id, and such requests do not count', async () => {
    for (let i = 0; i < 40; i++) {
      const response = await service.post('/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: 'x',
      });
      assertInvalidRequest(response);
      assert.deepEqual(rateLimitOf(response), [undefined, undefined, undefined]);
    }
  });
});

describe('thirty requests per minute', () => {
  test('pass, and the next is 429 with Retry-After', async () => {
    const client = await service.createClient();
    const last = await spend(client, 30);
    assertRevoked(last);
    assert.deepEqual(rateLimitOf(last), [30, 0, 60]);
    assertLimited(await ask(client), 60);
    service.clock.advance(10 * SECOND);
    assertLimited(await ask(client), 50);
  });

  test('are counted in a window that starts with the first request and ends exactly a minute later', async () => {
    const client = await service.createClient();
    service.clock.advance(37_123);
    await ask(client);
    service.clock.advance(MINUTE - 1);
    await spend(client, 29);
    assertLimited(await ask(client), 1);
    service.clock.advance(1);
    const first = await ask(client);
    assertRevoked(first);
    assert.deepEqual(rateLimitOf(first), [30, 29, 60]);
  });

  test('are counted in a new window that starts with the next request, not where the last one ended', async () => {
    const client = await service.createClient();
    await spend(client, 30);
    service.clock.advance(MINUTE + 45 * SECOND);
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 29, 60]);
    service.clock.advance(MINUTE - 1);
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 28, 1]);
  });

  test('share one counter for token and revocation', async () => {
    const client = await service.createClient();
    for (let i = 0; i < 15; i++) {
      await ask(client);
      assertInvalidGrant(await service.refresh(client, 'nothing'));
    }
    assertLimited(await ask(client));
    assertLimited(await service.refresh(client, 'nothing'));
  });

  test('are counted per client_id', async () => {
    const [one, other] = [await service.createClient(), await service.createClient()];
    await spend(one, 30);
    assertLimited(await ask(one));
    assert.deepEqual(rateLimitOf(await ask(other)), [30, 29, 60]);
  });

  test('count equally with the client_id in a form, in JSON and in the Authorization header', async () => {
    const client = await service.createClient();
    const { clientId: client_id, clientSecret: client_secret } = client;
    await ask(client);
    const authorization = basic(client_id, client_secret);
    const inHeader = await service.post('/oauth/revoke', { token: 'x' }, { authorization });
    assert.deepEqual(rateLimitOf(inHeader), [30, 28, 60]);
    const body = JSON.stringify({ token: 'x', client_id, client_secret });
    const headers = { 'content-type': 'application/json' };
    const inJson = await service.send('/oauth/revoke', { method: 'POST', body, headers });
    assert.deepEqual(rateLimitOf(inJson), [30, 27, 60]);
  });

  test('can be changed with POSTERN_RATE_LIMIT', async () => {
    const strict = await Service.start({ POSTERN_RATE_LIMIT: '2' });
    try {
      const client = await strict.createClient();
      assert.deepEqual(rateLimitOf(await strict.revoke(client, 'x')), [2, 1, 60]);
      assert.deepEqual(rateLimitOf(await strict.revoke(client, 'x')), [2, 0, 60]);
      assert.equal((await strict.revoke(client, 'x')).status, 429);
    } finally {
      await strict.stop();
    }
  });
});

describe('a request counts whatever its outcome, and error responses have the headers', () => {
  const form = 'Content-Type: application/x-www-form-urlencoded';
  const json = 'Content-Type: application/json';
  const post = (path: string, type: string, body: string | Buffer, ...more: string[]) =>
    rawRequest(service, [`POST ${path} HTTP/1.1`, type, ...more], body);

  const named = ({ clientId }: TestClient): string => `client_id=${clientId}`;
  const header = ({ clientId, clientSecret }: TestClient): string =>
    `Authorization: ${basic(clientId, clientSecret)}`;

  const requests: Readonly<Record<string, (client: TestClient) => Promise<Reply>>> = {
    'a missing grant_type': (client) => post('/oauth/token', form, named(client)),
    'a missing parameter': (client) =>
      post('/oauth/token', form, `grant_type=refresh_token&${named(client)}`),
    'a missing client_secret': (client) => post('/oauth/revoke', form, `token=x&${named(client)}`),
    'an unsupported grant_type': (client) => post('/oauth/token', form, `grant_type=x&${named(client)}`),
    'a wrong client_secret': (client) => service.revoke(client, 'x', { client_secret: 'wrong' }),
    'an invalid grant': (client) => service.refresh(client, 'x'),
    'a repeated parameter': (client) => post('/oauth/token', form, `${named(client)}&a=1&a=2`),
    'a repeated client_id': (client) => post('/oauth/token', form, `${named(client)}&${named(client)}`),
    'broken percent-encoding': (client) => post('/oauth/token', form, `a=%FF&${named(client)}`),
    'bytes that are not UTF-8': (client) =>
      post('/oauth/token', form, Buffer.from(`${named(client)}&a=\xff`, 'latin1')),
    'a JSON value that is not a string': ({ clientId }) =>
      post('/oauth/token', json, JSON.stringify({ client_id: clientId, a: 1 })),
    'credentials in the query': (client) => post('/oauth/token?code=x', form, named(client)),
    'two methods of authentication': (client) =>
      post('/oauth/token', form, `${named(client)}&client_secret=x`, header(client)),
    'a content type of another kind': (client) =>
      post('/oauth/token', 'Content-Type: text/plain', 'x', header(client)),
    'JSON that cannot be read': (client) => post('/oauth/token', json, '{', header(client)),
    'no body': (client) => rawRequest(service, ['POST /oauth/token HTTP/1.1', header(client)]),
    'an Authorization header that cannot be read beside a client_id in the body': (client) =>
      post('/oauth/token', form, `grant_type=refresh_token&${named(client)}`, 'Authorization: Basic !'),
    'a malformed content type': (client) => post('/oauth/token', 'Content-Type: ;', 'x', header(client)),
    'a body that is too large': (client) => post('/oauth/token', form, 'x'.repeat(70_000), header(client)),
  };
  for (const [rule, request] of Object.entries(requests)) {
    test(`with ${rule}`, async () => {
      const client = await service.createClient();
      const response = await request(client);
      assert.ok(response.status >= 400 && response.status < 500, response.text);
      assert.deepEqual(rateLimitOf(response), [30, 29, 60]);
      assert.deepEqual(rateLimitOf(await ask(client)), [30, 28, 60]);
    });
  }

  test('for a disabled application', async () => {
    const client = await service.createClient();
    await service.app.store.applications.setDisabled(client.clientId, true, service.clock.ms);
    for (let i = 1; i <= 30; i++) {
      const response = await ask(client);
      assertInvalidClient(response);
      assert.deepEqual(rateLimitOf(response), [30, 30 - i, 60]);
    }
    assertLimited(await ask(client));
  });

  test('for an unknown client_id of any length', async () => {
    for (const clientId of ['unknown', '\0', 'é', 'a'.repeat(64), 'a'.repeat(65), 'a'.repeat(10_000)]) {
      const stranger = { clientId, clientSecret: 'wrong', redirectUri: '' };
      for (let i = 1; i <= 30; i++) {
        const response = await ask(stranger);
        assertInvalidClient(response);
        assert.deepEqual(rateLimitOf(response), [30, 30 - i, 60]);
      }
      assertLimited(await ask(stranger), 60);
    }
    const similar = { clientId: `${'a'.repeat(9_999)}b`, clientSecret: 'wrong', redirectUri: '' };
    assert.deepEqual(rateLimitOf(await ask(similar)), [30, 29, 60]);
  });

  test('and 429 responses do not extend the window', async () => {
    const client = await service.createClient();
    await spend(client, 30);
    for (let i = 0; i < 40; i++) assertLimited(await ask(client), 60);
    service.clock.advance(MINUTE);
    assert.deepEqual(rateLimitOf(await ask(client)), [30, 29, 60]);
  });
});

describe('a request over the limit changes nothing', () => {
  test('a code is not exchanged', async () => {
    const client = await service.createClient();
    const issued = await service.authorize(client, await somebody(service));
    await spend(client, 30);
    assertLimited(await service.exchange(client, issued));
    service.clock.advance(MINUTE);
    assertTokens(await service.exchange(client, issued));
  });

  test('a refresh token is not consumed', async () => {
    const { client, tokens } = await connect(service);
    await spend(client, 29);
    assertLimited(await service.refresh(client, tokens.refresh_token));
    service.clock.advance(MINUTE);
    await assertTokensWork(service, client, tokens);
  });

  test('a consumed refresh token does not revoke its grant', async () => {
    const { client, tokens } = await connect(service);
    const second = assertTokens(await service.refresh(client, tokens.refresh_token));
    await spend(client, 28);
    assertLimited(await service.refresh(client, tokens.refresh_token));
    service.clock.advance(MINUTE);
    await assertTokensWork(service, client, second);
  });

  test('a replayed code does not revoke its grant', async () => {
    const client = await service.createClient();
    const issued = await service.authorize(client, await somebody(service));
    const tokens = assertTokens(await service.exchange(client, issued));
    await spend(client, 29);
    assertLimited(await service.exchange(client, issued));
    service.clock.advance(MINUTE);
    await assertTokensWork(service, client, tokens);
  });

  test('a token is not revoked', async () => {
    const { client, tokens } = await connect(service);
    await spend(client, 29);
    assertLimited(await service.revoke(client, tokens.refresh_token));
    assertLimited(await service.revoke(client, tokens.access_token));
    service.clock.advance(MINUTE);
    await assertTokensWork(service, client, tokens);
  });
});

describe('the order of checks', () => {
  test('the rate limit comes before every error but a malformed body', async () => {
    const client = await service.createClient();
    await spend(client, 30);
    const { clientId: client_id } = client;
    for (const form of [
      { client_id },
      { client_id, grant_type: 'password' },
      { client_id, grant_type: 'authorization_code' },
      { client_id, grant_type: 'refresh_token', refresh_token: 'x', client_secret: 'wrong' },
    ]) {
      assertLimited(await service.post('/oauth/token', form));
    }
    const body = `client_id=${client_id}&a=1&a=2`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const malformed = await service.send('/oauth/token', { method: 'POST', body, headers });
    assertInvalidRequest(malformed);
    assert.deepEqual(rateLimitOf(malformed), [30, 0, 60]);
  });
});

describe('behind a proxy, which forwards client addresses', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const askFrom = (
    address: string,
    { clientId, clientSecret }: TestClient,
    changes: Record<string, string> = {},
  ) =>
    proxied.post(
      '/oauth/revoke',
      { token: 'x', client_id: clientId, client_secret: clientSecret, ...changes },
      from(address),
    );
  const wrong = { client_secret: 'wrong' };
  const [HERE, THERE, ELSEWHERE] = ['192.0.2.1', '198.51.100.2', '203.0.113.3'] as const;

  test("a stranger at another address cannot use up an application's limit", async () => {
    const client = await proxied.createClient();
    for (let i = 0; i < 30; i++) assertInvalidClient(await askFrom(ELSEWHERE, client, wrong));
    for (let i = 0; i < 10; i++) assertLimited(await askFrom(ELSEWHERE, client, wrong));
    const response = await askFrom(HERE, client);
    assertRevoked(response);
    assert.deepEqual(rateLimitOf(response), [30, 29, 60]);
  });

  test('proxies can be listed by address', async () => {
    const behind = await Service.start({ POSTERN_TRUST_PROXY: '10.0.0.0/8, 127.0.0.1' });
    try {
      const client = { ...(await behind.createClient()), clientSecret: 'wrong' };
      const ask = (addresses: string) =>
        behind.post('/oauth/token', refreshForm(client, 'x'), from(addresses));
      for (let i = 0; i < 30; i++) assertInvalidClient(await ask(`${ELSEWHERE}, 10.1.2.3`));
      assertLimited(await ask(ELSEWHERE));
      assertLimited(await ask(`${HERE}, ${ELSEWHERE}`));
      assertInvalidClient(await ask(HERE));
    } finally {
      await behind.stop();
    }
  });

  test('many strangers cannot either, and the application can still refresh', async () => {
    const client = await proxied.createClient();
    const tokens = await proxied.tokens(client, await somebody(proxied));
    for (let i = 0; i < 60; i++) await askFrom(`203.0.113.${i + 10}`, client, wrong);
    assertTokens(await proxied.post('/oauth/token', refreshForm(client, tokens.refresh_token), from(HERE)));
  });

  test('an address over the limit is refused even with correct credentials', async () => {
    const client = await proxied.createClient();
    for (let i = 0; i < 30; i++) await askFrom(ELSEWHERE, client, wrong);
    assertLimited(await askFrom(ELSEWHERE, client));
    assertRevoked(await askFrom(HERE, client));
  });

  test('an application has thirty requests in total from all its addresses', async () => {
    const client = await proxied.createClient();
    for (let i = 1; i <= 15; i++) {
      assert.deepEqual(rateLimitOf(await askFrom(HERE, client)), [30, 30 - (2 * i - 1), 60]);
      assert.deepEqual(rateLimitOf(await askFrom(THERE, client)), [30, 30 - 2 * i, 60]);
    }
    for (const address of [HERE, THERE, ELSEWHERE]) assertLimited(await askFrom(address, client), 60);
    proxied.clock.advance(MINUTE);
    assertRevoked(await askFrom(THERE, client));
  });

  test('a request over the shared limit changes nothing', async () => {
    const client = await proxied.createClient();
    const issued = await proxied.authorize(client, await somebody(proxied));
    for (let i = 0; i < 30; i++) await askFrom(HERE, client);
    assertLimited(await proxied.post('/oauth/token', exchangeForm(client, issued), from(THERE)));
    proxied.clock.advance(MINUTE);
    assertTokens(await proxied.post('/oauth/token', exchangeForm(client, issued), from(THERE)));
  });

  test('the headers report the stricter of the two counters', async () => {
    const client = await proxied.createClient();
    for (let i = 0; i < 10; i++) await askFrom(HERE, client, wrong);
    assert.deepEqual(rateLimitOf(await askFrom(HERE, client)), [30, 19, 60]);
    for (let i = 0; i < 20; i++) await askFrom(THERE, client);
    assert.deepEqual(rateLimitOf(await askFrom(HERE, client)), [30, 8, 60]);
    assert.deepEqual(rateLimitOf(await askFrom(ELSEWHERE, client, wrong)), [30, 29, 60]);
  });

  test('a stranger gets invalid_client, not 429, while the application is over its own limit', async () => {
    const client = await proxied.createClient();
    for (let i = 0; i < 30; i++) await askFrom(HERE, client);
    assertInvalidClient(await askFrom(ELSEWHERE, client, wrong));
    assertLimited(await askFrom(ELSEWHERE, client));
  });

  test('only the last forwarded address counts: the sender can forge the others', async () => {
    const client = await proxied.createClient();
    for (let i = 0; i < 30; i++) await askFrom(`10.0.0.${i}, ${ELSEWHERE}`, client, wrong);
    assertLimited(await askFrom(`10.0.1.1, ${ELSEWHERE}`, client, wrong));
    assertRevoked(await askFrom(`${ELSEWHERE}, ${HERE}`, client));
  });

  test('an IPv6 /64 counts as one address', async () => {
    const client = await proxied.createClient();
    for (let i = 0; i < 30; i++) await askFrom(`2001:db8:1:2:${i}::${i}`, client, wrong);
    assertLimited(await askFrom('2001:db8:1:2:ffff::1', client, wrong));
    assertInvalidClient(await askFrom('2001:db8:1:3::1', client, wrong));
  });

  test('a malformed address is counted as it is, without an error', async () => {
    const client = await proxied.createClient();
    for (const address of ['garbage', '', ', ,', '1.2.3.4:80', '[::1]:80', 'a'.repeat(2000)]) {
      assertRevoked(await askFrom(address, client));
    }
  });
});

describe('without POSTERN_TRUST_PROXY', () => {
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip']) {
    test(`a forged ${name} has no effect`, async () => {
      const client = await service.createClient();
      const form = { token: 'x', client_id: client.clientId, client_secret: 'wrong' };
      const askAs = (last: number) => {
        const address = `198.51.100.${last}`;
        return service.post('/oauth/revoke', form, {
          [name]: name === 'forwarded' ? `for=${address}` : address,
        });
      };
      for (let i = 1; i <= 30; i++) assert.deepEqual(rateLimitOf(await askAs(i)), [30, 30 - i, 60]);
      assertLimited(await askAs(31));
    });
  }
});
