import assert from 'node:assert/strict';
import { test } from 'node:test';
import { network, site } from '../../src/protocol/address.ts';

test('an IPv4 address is its own network', () => {
  assert.equal(network('192.0.2.1'), '192.0.2.1');
  assert.notEqual(network('192.0.2.1'), network('192.0.2.2'));
});

test('an IPv4 address mapped into IPv6 is that IPv4 address', () => {
  assert.equal(network('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(network('::FFFF:192.0.2.1'), '192.0.2.1');
});

test('mapped IPv4 addresses are distinct in every spelling', () => {
  assert.equal(network('::ffff:c000:201'), '192.0.2.1');
  assert.equal(network('0:0:0:0:0:ffff:192.0.2.1'), '192.0.2.1');
});

test('addresses of one IPv6 /64 are one network', () => {
  const expected = network('2001:db8:1:2::1');
  for (const address of [
    '2001:db8:1:2::',
    '2001:db8:1:2:ffff:ffff:ffff:ffff',
    '2001:db8:1:2:3:4:5:6',
    '2001:db8:1:2::5:6',
    '2001:db8:1:2::1%eth0',
  ]) {
    assert.equal(network(address), expected, address);
  }
});

test('addresses of different IPv6 /64 are different networks', () => {
  const different = [
    '2001:db8:1:2::1',
    '2001:db8:1:3::1',
    '2001:db8::1',
    '2001:db8:1::1',
    '2001:db9:1:2::1',
    '::1',
    'fe80::1',
    '1:2:3::',
    '::2:3:4:5:6',
  ];
  assert.equal(new Set(different.map(network)).size, different.length);
});

test('abbreviated zeros make no difference', () => {
  assert.equal(network('2001:db8::1'), network('2001:db8:0:0::1'));
  assert.equal(network('2001:db8::1'), network('2001:db8:0:0:0:0:0:1'));
  assert.equal(network('::1'), network('0:0:0:0:0:0:0:1'));
  assert.equal(network('1::2:3:4:5:6'), network('1:0:0:2:3:4:5:6'));
});

test('leading zeros and capital letters make no difference', () => {
  assert.equal(network('2001:0DB8:0001:0002::1'), network('2001:db8:1:2::1'));
});

test('text that is not an address stays unchanged', () => {
  for (const text of ['', 'unknown', 'unix:', '_hidden', '1.2.3', ':::']) assert.equal(network(text), text);
});

test('text that is not an address is not kept whole', () => {
  assert.equal(network('x'.repeat(9000)).length, 45);
  assert.equal(network(`fe80::1%${'x'.repeat(9000)}`), 'fe80:0:0:0::/64');
});

test('the site of an IPv6 address is its /48; an IPv4 address has none', () => {
  assert.equal(site('2001:db8:1:2::1'), '2001:db8:1::/48');
  assert.equal(site('2001:db8:1:ffff::1'), site('2001:0DB8:1::'));
  assert.notEqual(site('2001:db8:2::1'), site('2001:db8:1::1'));
  assert.equal(site('::1'), '0:0:0::/48');
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', 'unknown', ''])
    assert.equal(site(address), undefined);
});
