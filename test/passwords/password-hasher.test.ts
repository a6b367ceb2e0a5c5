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

test('beyond the bounded queue a password is refused at once, and those in it are verified', async () => {
  const hasher = new PasswordHasher(1, 2);
  const waiting = [1, 2, 3].map(() => hasher.verify('x', undefined));
  await assert.rejects(hasher.verify('x', undefined), TemporarilyUnavailable);
  assert.deepEqual(await Promise.all(waiting), [false, false, false]);
  assert.equal(await hasher.verify('x', undefined), false);
});
