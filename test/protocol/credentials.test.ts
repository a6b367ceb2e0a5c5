import assert from 'node:assert/strict';
import { createHmac, hkdfSync } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type AccessToken,
  deriveSigningKey,
  type GrantRef,
  newId,
  TokenSigner,
} from '../../src/protocol/credentials.ts';

const OLD_KEY = Buffer.alloc(32, 0xa1);
const NEW_KEY = Buffer.alloc(32, 0xb2);
const LATEST = 9;

const signer = new TokenSigner(new Map([[LATEST, NEW_KEY]]));

type Kind = {
  readonly name: string;
  readonly prefix: string;
  readonly byte: number;
  readonly seal: (by: TokenSigner, credential: AccessToken) => string;
  readonly open: (by: TokenSigner, text: string) => GrantRef | undefined;
};

const KINDS: readonly Kind[] = [
  {
    name: 'code',
    prefix: 'postern_code_',
    byte: 1,
    seal: (by, link) => by.signCode(link),
    open: (by, text) => by.verifyCode(text),
  },
  {
    name: 'refresh token',
    prefix: 'postern_rt_',
    byte: 2,
    seal: (by, link) => by.signRefreshToken(link),
    open: (by, text) => by.verifyRefreshToken(text),
  },
  {
    name: 'access token',
    prefix: 'postern_at_',
    byte: 3,
    seal: (by, token) => by.signAccessToken(token),
    open: (by, text) => by.verifyAccessToken(text),
  },
];

const id = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));
const credential: fc.Arbitrary<AccessToken> = fc.record(
  {
    userId: id,
    grantId: id,
    generation: fc.nat({ max: 0xffff_ffff }),
    expiresAt: fc.nat({ max: 2 ** 48 - 1 }),
    scope: fc.nat({ max: 2 ** 24 - 1 }),
  },
  { noNullPrototype: true },
);

const example = (): AccessToken => ({
  userId: newId(),
  grantId: newId(),
  generation: 7,
  expiresAt: Date.UTC(2030, 0, 1),
  scope: 3,
});

/** The tag computed with createHmac over any bytes. */
function sealedByHand(prefix: string, payload: Buffer, key: Buffer): string {
  const tag = createHmac('sha256', key).update(payload).digest('base64url').slice(0, 22);
  return prefix + payload.toString('base64url') + tag;
}

const payloadOf = (text: string, prefix: string): Buffer =>
  Buffer.from(text.slice(prefix.length, -22), 'base64url');

for (const kind of KINDS) {
  const { name, prefix, byte, seal, open } = kind;

  describe(`a signed ${name}`, () => {
    test('contains the signed fields', () => {
      fc.assert(
        fc.property(credential, (sealed) => {
          const { userId, grantId, generation } = sealed;
          const expected = name === 'access token' ? sealed : { userId, grantId, generation };
          assert.deepEqual(open(signer, seal(signer, sealed)), expected);
        }),
      );
    });

    test('has the tag of createHmac', () => {
      fc.assert(
        fc.property(credential, fc.uint8Array({ minLength: 32, maxLength: 32 }), (sealed, bytes) => {
          const key = Buffer.from(bytes);
          const text = seal(new TokenSigner(new Map([[5, key]])), sealed);
          assert.equal(text, sealedByHand(prefix, payloadOf(text, prefix), key));
        }),
      );
    });

    test('starts with its prefix, its kind and its key number', () => {
      const text = seal(signer, example());
      assert.ok(text.startsWith(prefix));
      assert.deepEqual([...payloadOf(text, prefix).subarray(0, 3)], [byte, 0, LATEST]);
    });

    test('is refused after any change of a single character', () => {
      const text = seal(signer, example());
      const characters = [
        ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
        '+',
        '/',
        '=',
        ' ',
        '\n',
        'é',
      ];
      for (let index = 0; index < text.length; index++) {
        for (const character of characters) {
          if (character === text[index]) continue;
          const changed = text.slice(0, index) + character + text.slice(index + 1);
          assert.equal(open(signer, changed), undefined, `${character} at ${index}`);
        }
      }
      assert.ok(open(signer, text));
    });

    test('is refused after any change of a single character, for any fields', () => {
      fc.assert(
        fc.property(
          credential,
          fc.nat(),
          fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
          (sealed, at, put) => {
            const text = seal(signer, sealed);
            const index = at % text.length;
            const changed = text.slice(0, index) + put + text.slice(index + 1);
            fc.pre(changed !== text);
            assert.equal(open(signer, changed), undefined);
          },
        ),
        { numRuns: 500 },
      );
    });

    test('is refused with a character added, removed or moved', () => {
      const text = seal(signer, example());
      for (let index = 0; index <= text.length; index++) {
        assert.equal(open(signer, `${text.slice(0, index)}A${text.slice(index)}`), undefined);
        if (index === text.length) continue;
        assert.equal(open(signer, text.slice(0, index) + text.slice(index + 1)), undefined);
        const swapped =
          text.slice(0, index) + text.slice(index + 1, index + 2) + text[index] + text.slice(index + 2);
        if (swapped !== text) assert.equal(open(signer, swapped), undefined);
      }
      for (const around of [
        `${text}\n`,
        ` ${text}`,
        `${text} `,
        `${text}=`,
        `${text}\0`,
        text.toUpperCase(),
        '',
      ]) {
        assert.equal(open(signer, around), undefined, JSON.stringify(around));
      }
    });

    test('is not accepted as another kind, even with the prefix of the other', () => {
      const text = seal(signer, example());
      for (const other of KINDS) {
        if (other === kind) continue;
        assert.equal(other.open(signer, text), undefined);
        assert.equal(other.open(signer, other.prefix + text.slice(prefix.length)), undefined);
      }
    });

    test('is refused when the signed kind differs from the prefix, even with a correct tag', () => {
      const payload = payloadOf(seal(signer, example()), prefix);
      assert.ok(open(signer, sealedByHand(prefix, payload, NEW_KEY)));
      for (const wrong of [0, 1, 2, 3, 4, 255].filter((candidate) => candidate !== byte)) {
        payload[0] = wrong;
        assert.equal(open(signer, sealedByHand(prefix, payload, NEW_KEY)), undefined);
      }
    });

    test('is refused with an unknown key number, even with a correct tag', () => {
      const payload = payloadOf(seal(signer, example()), prefix);
      for (const number of [0, 1, LATEST + 1, 0xffff]) {
        payload.writeUInt16BE(number, 1);
        assert.equal(open(signer, sealedByHand(prefix, payload, NEW_KEY)), undefined);
      }
    });

    test('is refused by a different key with the same number', () => {
      const stranger = new TokenSigner(new Map([[LATEST, OLD_KEY]]));
      assert.equal(open(signer, seal(stranger, example())), undefined);
    });

    test('is signed with the newest key and verifies with older ones', () => {
      const sealed = example();
      const before = new TokenSigner(new Map([[3, OLD_KEY]]));
      const old = seal(before, sealed);
      const newer: readonly (readonly [number, Buffer])[] = [
        [3, OLD_KEY],
        [LATEST, NEW_KEY],
      ];
      for (const keys of [newer, newer.toReversed()]) {
        const rotated = new TokenSigner(new Map(keys));
        assert.equal(open(rotated, old)?.grantId, sealed.grantId);
        const fresh = seal(rotated, sealed);
        assert.equal(payloadOf(fresh, prefix).readUInt16BE(1), LATEST);
        assert.equal(open(rotated, fresh)?.grantId, sealed.grantId);
        assert.equal(open(before, fresh), undefined);
      }
      assert.equal(open(signer, old), undefined, 'a removed key verifies nothing');
    });

    test('any other text is refused and never throws', () => {
      const base64url = fc.string({
        unit: fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'),
        maxLength: 120,
      });
      const text = fc.oneof(
        fc.string({ unit: 'binary', maxLength: 200 }),
        base64url.map((tail) => prefix + tail),
        fc.string({ unit: 'binary', maxLength: 120 }).map((tail) => prefix + tail),
      );
      fc.assert(
        fc.property(text, (presented) => assert.equal(open(signer, presented), undefined)),
        { numRuns: 2000 },
      );
      const longest = 'A'.repeat(100);
      for (let length = 0; length <= longest.length; length++) {
        assert.equal(open(signer, prefix + longest.slice(0, length)), undefined, `length ${length}`);
      }
      assert.equal(open(signer, prefix + 'A'.repeat(1_000_000)), undefined);
    });
  });
}

test('verified fields do not change when another credential is verified or signed', () => {
  const [first, second] = [example(), example()];
  const opened = signer.verifyAccessToken(signer.signAccessToken(first));
  signer.verifyAccessToken(signer.signAccessToken(second));
  signer.signCode(second);
  assert.deepEqual(opened, first);
});

test('a short credential signed after a longer one contains nothing of it', () => {
  const link = example();
  const before = signer.signCode(link);
  signer.signAccessToken(example());
  assert.equal(signer.signCode(link), before);
});

test('a signer without a key is refused', () => {
  assert.throws(() => new TokenSigner(new Map()), /needs a key/);
});

test('a signing key is derived from secret and number (RFC 5869)', () => {
  const secret = Buffer.from('a secret that is long enough for this');
  const expected = Buffer.from(hkdfSync('sha256', secret, '', 'postern signing key 2', 32));
  assert.deepEqual(deriveSigningKey(secret, 2), expected);
  assert.notDeepEqual(deriveSigningKey(secret, 1), expected);
});

test('an id is 128 random bits in 22 characters', () => {
  const ids = new Set(Array.from({ length: 1000 }, newId));
  assert.equal(ids.size, 1000);
  for (const one of ids) assert.match(one, /^[A-Za-z0-9_-]{22}$/);
});
