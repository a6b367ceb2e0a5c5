import { hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ScopeSet } from './scope.ts';

/**
 * Codes, refresh tokens and access tokens carry the fields that identify them, signed with HMAC-SHA-256 under a key
 * of the service. A forged credential is refused without a database query, and the database holds none that could
 * be stolen (docs/decisions/003-signed-credentials.md).
 *
 *   prefix ‖ base64url(kind, key number, user id, grant id, generation [, expiry, scope]) ‖ tag
 *
 * The payload's length is a multiple of three bytes and the tag is compared as text, so every credential has exactly
 * one encoding.
 */
export type GrantRef = {
  readonly userId: string;
  readonly grantId: string;
  /** 0 is the code, n ≥ 1 the n-th refresh token. */
  readonly generation: number;
};

export type AccessToken = GrantRef & { readonly expiresAt: number; readonly scope: ScopeSet };

/** 22 base64url characters hold 132 bits of the HMAC. */
const TAG_LENGTH = 22;
const GRANT_REF_BYTES = 1 + 2 + 16 + 16 + 4;
const ACCESS_BYTES = GRANT_REF_BYTES + 6 + 3;
/** Of SHA-256, in bytes. */
const BLOCK = 64;

type Kind = 'code' | 'refresh' | 'access';
const KINDS: Record<Kind, { readonly byte: number; readonly prefix: string; readonly size: number }> = {
  code: { byte: 1, prefix: 'postern_code_', size: GRANT_REF_BYTES },
  refresh: { byte: 2, prefix: 'postern_rt_', size: GRANT_REF_BYTES },
  access: { byte: 3, prefix: 'postern_at_', size: ACCESS_BYTES },
};

const pattern = (kind: Kind) =>
  new RegExp(`^${KINDS[kind].prefix}[A-Za-z0-9_-]{${(KINDS[kind].size * 4) / 3 + TAG_LENGTH}}$`);
const PATTERNS: Record<Kind, RegExp> = {
  code: pattern('code'),
  refresh: pattern('refresh'),
  access: pattern('access'),
};

/** 128 random bits in 22 characters, for user and grant ids. A stolen key is useless without a grant id. */
export const newId = (): string => randomBytes(16).toString('base64url');

/** The padded keys of HMAC (RFC 2104), with space behind them for the payload and the inner hash. */
type Pads = { readonly inner: Buffer; readonly outer: Buffer };

function padsOf(key: Buffer): Pads {
  const pad = (byte: number, space: number) => {
    const block = Buffer.alloc(BLOCK + space, 0);
    block.fill(byte, 0, BLOCK);
    for (let i = 0; i < key.length; i++) block[i] = byte ^ key[i]!;
    return block;
  };
  return { inner: pad(0x36, ACCESS_BYTES), outer: pad(0x5c, 32) };
}

/**
 * Derives a signing key from the service's secret (HKDF, RFC 5869). The database stores only the salt, which is
 * worthless without the secret.
 */
export function deriveSigningKey(secret: Buffer, number: number, salt = ''): Buffer {
  const bytes = Buffer.from(salt, 'base64url');
  return Buffer.from(hkdfSync('sha256', secret, bytes, `postern signing key ${number}`, 32));
}

export class TokenSigner {
  readonly #keys = new Map<number, Pads>();
  readonly #signingKey: number;
  readonly #presented = Buffer.alloc(TAG_LENGTH);
  readonly #expected = Buffer.alloc(TAG_LENGTH);

  /** Every key verifies, and one signs: the newest by default. Keys have 32 bytes, and their numbers fit in two. */
  constructor(keys: ReadonlyMap<number, Buffer>, signingKey = Math.max(...keys.keys())) {
    if (!keys.has(signingKey)) throw new Error('a token signer needs a key to sign with');
    for (const [number, key] of keys) this.#keys.set(number, padsOf(key));
    this.#signingKey = signingKey;
  }

  signCode(ref: GrantRef): string {
    return this.#sign('code', ref);
  }

  signRefreshToken(ref: GrantRef): string {
    return this.#sign('refresh', ref);
  }

  signAccessToken(token: AccessToken): string {
    const pads = this.#keys.get(this.#signingKey)!;
    writeGrantRef(pads.inner, KINDS.access.byte, this.#signingKey, token);
    pads.inner.writeUIntBE(token.expiresAt, BLOCK + GRANT_REF_BYTES, 6);
    pads.inner.writeUIntBE(token.scope, BLOCK + GRANT_REF_BYTES + 6, 3);
    return KINDS.access.prefix + payloadAndTag(pads, ACCESS_BYTES);
  }

  verifyCode(text: string): GrantRef | undefined {
    const bytes = this.#verify('code', text);
    return bytes && readGrantRef(bytes);
  }

  verifyRefreshToken(text: string): GrantRef | undefined {
    const bytes = this.#verify('refresh', text);
    return bytes && readGrantRef(bytes);
  }

  verifyAccessToken(text: string): AccessToken | undefined {
    const bytes = this.#verify('access', text);
    if (!bytes) return undefined;
    const ref = readGrantRef(bytes);
    return {
      userId: ref.userId,
      grantId: ref.grantId,
      generation: ref.generation,
      expiresAt: bytes.readUIntBE(BLOCK + GRANT_REF_BYTES, 6),
      scope: bytes.readUIntBE(BLOCK + GRANT_REF_BYTES + 6, 3),
    };
  }

  #sign(kind: 'code' | 'refresh', ref: GrantRef): string {
    const pads = this.#keys.get(this.#signingKey)!;
    writeGrantRef(pads.inner, KINDS[kind].byte, this.#signingKey, ref);
    return KINDS[kind].prefix + payloadAndTag(pads, GRANT_REF_BYTES);
  }

  /** Returns the key's buffer with the payload, to be read before the next call; undefined for a forged credential. */
  #verify(kind: Kind, text: string): Buffer | undefined {
    if (!PATTERNS[kind].test(text)) return undefined;
    const { byte, prefix, size } = KINDS[kind];
    const payload = text.slice(prefix.length, -TAG_LENGTH);
    const head = Buffer.from(payload.slice(0, 4), 'base64url');
    const pads = this.#keys.get(head.readUInt16BE(1));
    if (head[0] !== byte || !pads) return undefined;
    pads.inner.write(payload, BLOCK, size, 'base64url');
    this.#presented.write(text.slice(-TAG_LENGTH), 'latin1');
    this.#expected.write(tag(pads, size), 'latin1');
    return timingSafeEqual(this.#presented, this.#expected) ? pads.inner : undefined;
  }
}

function writeGrantRef(into: Buffer, kind: number, key: number, ref: GrantRef): void {
  into[BLOCK] = kind;
  into.writeUInt16BE(key, BLOCK + 1);
  into.write(ref.userId, BLOCK + 3, 16, 'base64url');
  into.write(ref.grantId, BLOCK + 19, 16, 'base64url');
  into.writeUInt32BE(ref.generation, BLOCK + 35);
}

function readGrantRef(from: Buffer): GrantRef {
  return {
    userId: from.toString('base64url', BLOCK + 3, BLOCK + 19),
    grantId: from.toString('base64url', BLOCK + 19, BLOCK + 35),
    generation: from.readUInt32BE(BLOCK + 35),
  };
}

function payloadAndTag(pads: Pads, size: number): string {
  return pads.inner.toString('base64url', BLOCK, BLOCK + size) + tag(pads, size);
}

/**
 * HMAC (RFC 2104) of the payload in `inner`, made of two one-shot hashes on prepared pads: a third of the time of
 * createHmac, because no object is created per call (docs/decisions/003-signed-credentials.md). A test compares it
 * with createHmac.
 */
function tag(pads: Pads, size: number): string {
  const digest = hash('sha256', pads.inner.subarray(0, BLOCK + size), 'latin1');
  pads.outer.write(digest, BLOCK, 'latin1');
  return hash('sha256', pads.outer, 'base64url').slice(0, TAG_LENGTH);
}
