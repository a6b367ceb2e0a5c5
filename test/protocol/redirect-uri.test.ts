import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redirectUriFault, redirectWith } from '../../src/protocol/redirect-uri.ts';

describe('may be registered', () => {
  for (const uri of [
    'https://client.example',
    'https://client.example/',
    'https://client.example/callback',
    'https://client.example:8443/callback?fixed=a%20b&c',
    'https://client.example/callback?',
    'https://client.example/a/../b',
    'https://xn--bcher-kva.example/',
    'https://192.0.2.1/callback',
    'https://[2001:db8::1]/callback',
    'http://localhost/callback',
    'http://localhost:4000/callback',
    'http://127.0.0.1:4000/callback',
    'http://[::1]:4000/callback',
    `https://client.example/${'a'.repeat(1977)}`,
  ]) {
    test(uri.slice(0, 60), () => assert.equal(redirectUriFault(uri), undefined));
  }
});

describe('may not be registered', () => {
  const texts = {
    not_absolute: /^is not an absolute URL/,
    plain_http: /^uses plain http/,
    user_info: /^holds a user name or password/,
    fragment: /^holds a fragment/,
    wildcard: /^holds a wildcard/,
    forbidden_character: /^holds a space, a control character/,
    scheme: /^must begin with https/,
    too_long: /^is longer than 2000 characters$/,
  };
  const faults: readonly (readonly [string, keyof typeof texts])[] = [
    ['', 'not_absolute'],
    ['/callback', 'not_absolute'],
    ['client.example/callback', 'not_absolute'],
    ['//client.example/callback', 'not_absolute'],
    ['https:client.example', 'not_absolute'],
    ['https:/client.example', 'not_absolute'],
    ['https:///client.example', 'not_absolute'],
    ['https://', 'not_absolute'],
    ['https://?x', 'not_absolute'],
    ['https://client.example:99999/', 'not_absolute'],
    ['https://client.example:port/', 'not_absolute'],
    ['https://[::1/', 'not_absolute'],
    ['http://client.example/callback', 'plain_http'],
    ['http://localhost.client.example/', 'plain_http'],
    ['http://127.0.0.1.client.example/', 'plain_http'],
    ['http://localhost@client.example/', 'user_info'],
    ['http://10.0.0.1/', 'plain_http'],
    ['http://0.0.0.0/', 'plain_http'],
    ['http://[::2]/', 'plain_http'],
    ['https://user@client.example/', 'user_info'],
    ['https://user:password@client.example/', 'user_info'],
    ['https://@client.example/', 'user_info'],
    ['https://client.example/#fragment', 'fragment'],
    ['https://client.example/#', 'fragment'],
    ['https://client.example/callback?a=b#c', 'fragment'],
    ['https://*.client.example/', 'wildcard'],
    ['https://client.example/*', 'wildcard'],
    ['https://client.example/ callback', 'forbidden_character'],
    [' https://client.example/', 'forbidden_character'],
    ['https://client.example/\n', 'forbidden_character'],
    ['https://client.example/\r\nSet-Cookie: a=b', 'forbidden_character'],
    ['https://client.example/\0', 'forbidden_character'],
    ['https://client.example/\x7f', 'forbidden_character'],
    ['https://client.example\\@evil.example/', 'forbidden_character'],
    ['https:\\\\client.example/', 'forbidden_character'],
    ['https://client.example/"><script>', 'forbidden_character'],
    ['https://bücher.example/', 'forbidden_character'],
    ['https://client.example/é', 'forbidden_character'],
    ['javascript://client.example/%0aalert(1)', 'scheme'],
    ['data://client.example/', 'scheme'],
    ['ftp://client.example/', 'scheme'],
    ['myapp://callback', 'scheme'],
    ['javascript:alert(1)', 'not_absolute'],
    [`https://client.example/${'a'.repeat(1978)}`, 'too_long'],
  ];
  for (const [uri, fault] of faults) {
    test(`${JSON.stringify(uri.slice(0, 60))}: ${fault}`, () => {
      assert.match(redirectUriFault(uri)!, texts[fault]);
    });
  }
});

/** The origin goes into the Content-Security-Policy header, where these characters end a directive. */
test('a host with a Content-Security-Policy delimiter may not be registered', () => {
  for (const host of ['client;sandbox', 'client,example', "'self'"]) {
    assert.notEqual(redirectUriFault(`https://${host}/callback`), undefined, host);
  }
});

describe('response parameters are added', () => {
  const parameters = { code: 'c', iss: 'https://id.example' };
  const added = 'code=c&iss=https%3A%2F%2Fid.example';

  for (const [uri, expected] of [
    ['https://client.example', `https://client.example?${added}`],
    ['https://client.example/cb', `https://client.example/cb?${added}`],
    ['https://client.example/cb?', `https://client.example/cb?${added}`],
    ['https://client.example/cb?a=b', `https://client.example/cb?a=b&${added}`],
    ['https://client.example/cb?a=b&', `https://client.example/cb?a=b&${added}`],
    [
      'HTTPS://Client.example:443/cb?x=%7e%7E+%20&&y',
      `HTTPS://Client.example:443/cb?x=%7e%7E+%20&&y&${added}`,
    ],
  ] as const) {
    test(`to ${uri}, which is preserved byte for byte`, () =>
      assert.equal(redirectWith(uri, parameters), expected));
  }

  test('with the state exactly as it was sent', () => {
    const state = 'a%20b%2B+%FF%zz';
    assert.equal(
      redirectWith('https://c.example/', { error: 'e' }, state),
      `https://c.example/?error=e&state=${state}`,
    );
  });
});
