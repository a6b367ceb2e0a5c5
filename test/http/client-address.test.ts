import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { ClientAddresses } from '../../src/http/client-address.ts';
import { Service } from '../support/service.ts';

const request = (peer: string | undefined, forwarded?: string) =>
  ({
    socket: { remoteAddress: peer },
    headers: { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

test('behind one trusted proxy the last address counts, without its port', () => {
  const addresses = new ClientAddresses(1);
  for (const [forwarded, expected] of [
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:1234', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7:50000', '203.0.113.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['fe80::1%eth0', 'fe80::1'],
    [`fe80::1%${'x'.repeat(9_000)}`, '10.0.0.1'],
    [undefined, '10.0.0.1'],
    ['', '10.0.0.1'],
    ['unknown', '10.0.0.1'],
    ['203.0.113.7,', '10.0.0.1'],
    ['203.0.113.7:', '10.0.0.1'],
    ['203.0.113.7:123456', '10.0.0.1'],
    ['x'.repeat(9_000), '10.0.0.1'],
    [`203.0.113.7:${'1'.repeat(9_000)}`, '10.0.0.1'],
  ] as const)
    assert.equal(addresses.of(request('10.0.0.1', forwarded)), expected, String(forwarded));
  assert.equal(addresses.of(request(undefined, '203.0.113.7')), '');
});

test('with a list of proxies, addresses count up to the first that is not one of them', () => {
  const addresses = new ClientAddresses('10.0.0.0/8, 2001:db8::/32');
  const of = (peer: string, forwarded: string) => addresses.of(request(peer, forwarded));
  assert.equal(of('203.0.113.9', '203.0.113.7'), '203.0.113.9', 'a stranger is not believed');
  assert.equal(of('10.0.0.1', '1.2.3.4, 203.0.113.7, 10.0.0.2:80, [2001:db8::2]:80'), '203.0.113.7');
  assert.equal(of('10.0.0.1', 'nonsense, 10.0.0.2'), '10.0.0.2');
  assert.match(of('10.0.0.1', '10.0.0.2,'.repeat(1_000).slice(0, -1)), /^10\./);
  assert.equal(addresses.trustsPeer(request('10.1.2.3')), true);
  assert.equal(addresses.trustsPeer(request('203.0.113.9')), false);
});

test('a port or other text in X-Forwarded-For makes no new client, and nothing long is stored', async () => {
  const service = await Service.start({ POSTERN_TRUST_PROXY: 'true' });
  try {
    const send = (forwarded: string) =>
      service.post('/oauth/revoke', { client_id: 'app_x' }, { 'x-forwarded-for': forwarded });
    const remaining = async (forwarded: string) => (await send(forwarded)).headers.get('ratelimit-remaining');
    assert.equal(await remaining('203.0.113.7'), '29');
    assert.equal(await remaining('203.0.113.7:1'), '28');
    assert.equal(await remaining('203.0.113.7:2'), '27');
    assert.equal(await remaining('one invention'), '29', 'the peer itself');
    assert.equal(await remaining('another invention'), '28');
    const visitor = await service.visitor();
    const page = await visitor.get('/login');
    const [, token] = / name="form_token" value="([^"]*)"/.exec(page.text) ?? [];
    const { email, password } = visitor.user;
    const headers = { 'x-forwarded-for': 'x'.repeat(9_000) };
    await visitor.post('/login', { form_token: token!, email, password }, headers);
    const rows = await service.rows('SELECT address FROM sessions');
    assert.deepEqual(
      rows.map((row) => row.address),
      ['127.0.0.1'],
    );
  } finally {
    await service.stop();
  }
});
