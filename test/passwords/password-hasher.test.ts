import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PasswordHasher } from '../../src/passwords/password-hasher.ts';
import { TemporarilyUnavailable } from '../../src/protocol/errors.ts';

describe('a password', () => {
  test('is hashed with Argon2id and a random salt, and verified', async () => {
    const hasher = new PasswordHasher();
    const [one, other] = await Promise.all([hasher.hash('a long password'), hasher.hash('a long password')]);
    assert.match(one!, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.notEqual(one, other);
    assert.equal(await hasher.verify('a long password', one), true);
    assert.equal(await hasher.verify('A long password', one), false);
    assert.equal(await hasher.verify('', one), false);
  });

  test('typed in another Unicode form is the same password', async () => {
    const hasher = new PasswordHasher();
    const stored = await hasher.hash('mañana Ⅳ password'.normalize('NFC'));
    assert.equal(await hasher.verify('mañana Ⅳ password'.normalize('NFD'), stored), true);
  });

  test('of an unknown user is hashed as well, and never verifies', async () => {
    assert.equal(await new PasswordHasher().verify('x', undefined), false);
    assert.equal(await new PasswordHasher().verify('', undefined), false);
  });

  test('whose stored hash is malformed is an error, not a mismatch', async () => {
    await assert.rejects(new PasswordHasher().verify('x', 'not a hash'), /not in the expected format/);
  });
});

describe('the queue', () => {
  test('is bounded: beyond it a password is refused at once, and those in it are verified', async () => {
    const hasher = new PasswordHasher(1, 2);
    const waiting = [1, 2, 3].map(() => hasher.verify('x', undefined));
    await assert.rejects(hasher.verify('x', undefined), TemporarilyUnavailable);
    assert.deepEqual(await Promise.all(waiting), [false, false, false]);
    assert.equal(await hasher.verify('x', undefined), false);
  });

  /** Resolves with the names in the order in which they were hashed; a refused one has a question mark. */
  async function order(hasher: PasswordHasher, requests: readonly (readonly [string, string])[]) {
    const done: string[] = [];
    const log = (text: string) => void done.push(text);
    const hashes = requests.map(([name, address]) =>
      hasher.hash(name, address).then(
        () => log(name),
        () => log(`${name}?`),
      ),
    );
    await Promise.all(hashes);
    return done;
  }

  test('has a few places per network, and networks take turns', async () => {
    const flood = Array.from({ length: 8 }, (_, i) => [`a${i}`, `2001:db8:1:${i}::1`] as const);
    const others = [['b', '192.0.2.1'] as const, ['c', '2001:db8:2::1'] as const];
    assert.deepEqual(await order(new PasswordHasher(1, 100, 3), [...flood, ...others]), [
      ...['a4?', 'a5?', 'a6?', 'a7?'],
      ...['a0', 'a1', 'b', 'c', 'a2', 'a3'],
    ]);
  });

  test('that is full gives a place of the largest network to another one', async () => {
    const of = (name: string, address: string) => [name, address] as const;
    const requests = [
      ...[of('a0', '192.0.2.1'), of('a1', '192.0.2.1'), of('a2', '192.0.2.1'), of('b1', '192.0.2.2')],
      ...[of('c1', '192.0.2.3'), of('d1', '192.0.2.4')],
    ];
    assert.deepEqual(await order(new PasswordHasher(1, 3, 3), requests), [
      'd1?',
      'a2?',
      'a0',
      'a1',
      'b1',
      'c1',
    ]);
  });
});
