import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Passwords, PasswordsBusy, passwordFault } from '../../src/passwords/passwords.ts';

describe('a password', () => {
  test('is hashed with Argon2id and a salt of its own, and verified', async () => {
    const passwords = new Passwords();
    const [one, other] = await Promise.all([
      passwords.hash('a long password'),
      passwords.hash('a long password'),
    ]);
    assert.match(one!, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.notEqual(one, other);
    assert.equal(await passwords.verify('a long password', one), true);
    assert.equal(await passwords.verify('A long password', one), false);
    assert.equal(await passwords.verify('', one), false);
  });

  test('typed in another Unicode form is the same one', async () => {
    const passwords = new Passwords();
    const stored = await passwords.hash('mañana Ⅳ password'.normalize('NFC'));
    assert.equal(await passwords.verify('mañana Ⅳ password'.normalize('NFD'), stored), true);
  });

  test('of nobody is hashed all the same and is never right', async () => {
    assert.equal(await new Passwords().verify('x', undefined), false);
    assert.equal(await new Passwords().verify('', undefined), false);
  });

  test('whose stored hash is damaged is an error and not a refusal', async () => {
    await assert.rejects(new Passwords().verify('x', 'not a hash'), /not in the expected format/);
  });

  test('needs 8 to 128 characters, and not always the same one', () => {
    assert.equal(passwordFault(`${'x'.repeat(7)}y`), undefined);
    assert.equal(passwordFault(`${'x'.repeat(127)}y`), undefined);
    assert.equal(passwordFault('😀🚲'.repeat(64)), undefined);
    assert.match(passwordFault(`${'x'.repeat(6)}y`) ?? '', /at least 8/);
    assert.match(passwordFault(`${'😀'.repeat(6)}🚲`) ?? '', /at least 8/);
    assert.match(passwordFault(`${'x'.repeat(128)}y`) ?? '', /at most 128/);
    for (const repeated of ['x'.repeat(8), 'x'.repeat(128), '😀'.repeat(128)])
      assert.ok(passwordFault(repeated), repeated);
  });
});

test('more than may wait are turned away at once, and those who wait are served', async () => {
  const passwords = new Passwords(1, 2);
  const served = [1, 2, 3].map(() => passwords.verify('x', undefined));
  await assert.rejects(passwords.verify('x', undefined), PasswordsBusy);
  assert.deepEqual(await Promise.all(served), [false, false, false]);
  assert.equal(await passwords.verify('x', undefined), false);
});
