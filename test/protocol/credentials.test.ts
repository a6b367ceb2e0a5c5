import assert from 'node:assert/strict';
import { createHmac, hkdfSync } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type AccessCredential,
  type LinkCredential,
  newId,
  Sealer,
  sealingKey,
} from '../../src/protocol/credentials.ts';

const OLD_KEY = Buffer.alloc(32, 0xa1);
const NEW_KEY = Buffer.alloc(32, 0xb2);
const LATEST = 9;

const sealer = new Sealer(new Map([[LATEST, NEW_KEY]]));

type Kind = {
  readonly name: string;
  readonly prefix: string;
  readonly byte: number;
  readonly seal: (by: Sealer, credential: AccessCredential) => string;
  readonly open: (by: Sealer, text: string) => LinkCredential | undefined;
};

const KINDS: readonly Kind[] = [
  {
    name: 'code',
    prefix: 'postern_code_',
    byte: 1,
    seal: (by, link) => by.sealCode(link),
    open: (by, text) => by.openCode(text),
  },
  {
    name: 'refresh token',
    prefix: 'postern_rt_',
    byte: 2,
    seal: (by, link) => by.sealRefreshToken(link),
    open: (by, text) => by.openRefreshToken(text),
  },
  {
    name: 'access token',
    prefix: 'postern_at_',
    byte: 3,
    seal: (by, token) => by.sealAccessToken(token),
    open: (by, text) => by.openAccessToken(text),
  },
];

const id = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));
const credential: fc.Arbitrary<AccessCredential> = fc.record(
  {
    userId: id,
    grantId: id,
    generation: fc.nat({ max: 0xffff_ffff }),
    expiresAt: fc.nat({ max: 2 ** 48 - 1 }),
    scope: fc.nat({ max: 2 ** 24 - 1 }),
  },
  { noNullPrototype: true },
);

const example = (): AccessCredential => ({
  userId: newId(),
  grantId: newId(),
  generation: 7,
  expiresAt: Date.UTC(2030, 0, 1),
  scope: 3,
});

/** The tag as node's own HMAC makes it, over bytes of the test's choosing. */
function sealedByHand(prefix: string, payload: Buffer, key: Buffer): string {
  const tag = createHmac('sha256', key).update(payload).digest('base64url').slice(0, 22);
  return prefix + payload.toString('base64url') + tag;
}

const payloadOf = (text: string, prefix: string): Buffer =>
  Buffer.from(text.slice(prefix.length, -22), 'base64url');

for (const kind of KINDS) {
  const { name, prefix, byte, seal, open } = kind;

  describe(`a sealed ${name}`, () => {
    test('gives back what was sealed', () => {
      fc.assert(
        fc.property(credential, (sealed) => {
          const { userId, grantId, generation } = sealed;
          const expected = name === 'access token' ? sealed : { userId, grantId, generation };
          assert.deepEqual(open(sealer, seal(sealer, sealed)), expected);
        }),
      );
    });

    test('has the tag that createHmac makes', () => {
      fc.assert(
        fc.property(credential, fc.uint8Array({ minLength: 32, maxLength: 32 }), (sealed, bytes) => {
          const key = Buffer.from(bytes);
          const text = seal(new Sealer(new Map([[5, key]])), sealed);
          assert.equal(text, sealedByHand(prefix, payloadOf(text, prefix), key));
        }),
      );
    });

    test('begins with its prefix, its kind and the number of its key', () => {
      const text = seal(sealer, example());
      assert.ok(text.startsWith(prefix));
      assert.deepEqual([...payloadOf(text, prefix).subarray(0, 3)], [byte, 0, LATEST]);
    });

    test('is refused after any change of a single character', () => {
      const text = seal(sealer, example());
      const characters = [
        ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
        '+',
        '/',
        '=',
        ' ',
        '\n',
        'é',
      ];
      for (let place = 0; place < text.length; place++) {
        for (const character of characters) {
          if (character === text[place]) continue;
          const changed = text.slice(0, place) + character + text.slice(place + 1);
          assert.equal(open(sealer, changed), undefined, `${character} at ${place}`);
        }
      }
      assert.ok(open(sealer, text));
    });

    test('is refused after any change of a single character, whatever was sealed', () => {
      fc.assert(
        fc.property(
          credential,
          fc.nat(),
          fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
          (sealed, at, put) => {
            const text = seal(sealer, sealed);
            const place = at % text.length;
            const changed = text.slice(0, place) + put + text.slice(place + 1);
            fc.pre(changed !== text);
            assert.equal(open(sealer, changed), undefined);
          },
        ),
        { numRuns: 500 },
      );
    });

    test('is refused with a character more, less or moved', () => {
      const text = seal(sealer, example());
      for (let place = 0; place <= text.length; place++) {
        assert.equal(open(sealer, `${text.slice(0, place)}A${text.slice(place)}`), undefined);
        if (place === text.length) continue;
        assert.equal(open(sealer, text.slice(0, place) + text.slice(place + 1)), undefined);
        const swapped =
          text.slice(0, place) + text.slice(place + 1, place + 2) + text[place] + text.slice(place + 2);
        if (swapped !== text) assert.equal(open(sealer, swapped), undefined);
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
        assert.equal(open(sealer, around), undefined, JSON.stringify(around));
      }
    });

    test('is not taken for another kind, not even under the prefix of the other', () => {
      const text = seal(sealer, example());
      for (const other of KINDS) {
        if (other === kind) continue;
        assert.equal(other.open(sealer, text), undefined);
        assert.equal(other.open(sealer, other.prefix + text.slice(prefix.length)), undefined);
      }
    });

    test('is refused when the sealed kind is not the one of the prefix, though the tag is right', () => {
      const payload = payloadOf(seal(sealer, example()), prefix);
      assert.ok(open(sealer, sealedByHand(prefix, payload, NEW_KEY)));
      for (const wrong of [0, 1, 2, 3, 4, 255].filter((candidate) => candidate !== byte)) {
        payload[0] = wrong;
        assert.equal(open(sealer, sealedByHand(prefix, payload, NEW_KEY)), undefined);
      }
    });

    test('is refused under a key number that is not known, though the tag is right', () => {
      const payload = payloadOf(seal(sealer, example()), prefix);
      for (const number of [0, 1, LATEST + 1, 0xffff]) {
        payload.writeUInt16BE(number, 1);
        assert.equal(open(sealer, sealedByHand(prefix, payload, NEW_KEY)), undefined);
      }
    });

    test('is refused by another key of the same number', () => {
      const stranger = new Sealer(new Map([[LATEST, OLD_KEY]]));
      assert.equal(open(sealer, seal(stranger, example())), undefined);
    });

    test('opens with an older key, and the newest seals', () => {
      const sealed = example();
      const before = new Sealer(new Map([[3, OLD_KEY]]));
      const old = seal(before, sealed);
      const newer: readonly (readonly [number, Buffer])[] = [
        [3, OLD_KEY],
        [LATEST, NEW_KEY],
      ];
      for (const keys of [newer, newer.toReversed()]) {
        const rotated = new Sealer(new Map(keys));
        assert.equal(open(rotated, old)?.grantId, sealed.grantId);
        const fresh = seal(rotated, sealed);
        assert.equal(payloadOf(fresh, prefix).readUInt16BE(1), LATEST);
        assert.equal(open(rotated, fresh)?.grantId, sealed.grantId);
        assert.equal(open(before, fresh), undefined);
      }
      assert.equal(open(sealer, old), undefined, 'a key that was taken away opens nothing');
    });

    test('text of any kind and length is refused and never throws', () => {
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
        fc.property(text, (presented) => assert.equal(open(sealer, presented), undefined)),
        { numRuns: 2000 },
      );
      const longest = 'A'.repeat(100);
      for (let length = 0; length <= longest.length; length++) {
        assert.equal(open(sealer, prefix + longest.slice(0, length)), undefined, `length ${length}`);
      }
      assert.equal(open(sealer, prefix + 'A'.repeat(1_000_000)), undefined);
    });
  });
}

test('what was opened does not change when something else is opened or sealed', () => {
  const [first, second] = [example(), example()];
  const opened = sealer.openAccessToken(sealer.sealAccessToken(first));
  sealer.openAccessToken(sealer.sealAccessToken(second));
  sealer.sealCode(second);
  assert.deepEqual(opened, first);
});

test('a shorter credential sealed after a longer one holds nothing of it', () => {
  const link = example();
  const before = sealer.sealCode(link);
  sealer.sealAccessToken(example());
  assert.equal(sealer.sealCode(link), before);
});

test('a sealer without a key is refused', () => {
  assert.throws(() => new Sealer(new Map()), /needs a key/);
});

test('a sealing key is derived from secret and number (RFC 5869)', () => {
  const secret = Buffer.from('a secret that is long enough for this');
  const expected = Buffer.from(hkdfSync('sha256', secret, '', 'postern sealing key 2', 32));
  assert.deepEqual(sealingKey(secret, 2), expected);
  assert.notDeepEqual(sealingKey(secret, 1), expected);
});

test('an id is 128 random bits in 22 characters', () => {
  const ids = new Set(Array.from({ length: 1000 }, newId));
  assert.equal(ids.size, 1000);
  for (const one of ids) assert.match(one, /^[A-Za-z0-9_-]{22}$/);
});
