import { hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ScopeSet } from './scope.ts';

/**
 * Codes, refresh and access tokens carry what identifies them, sealed with HMAC-SHA-256
 * under a key of the service. What does not open was never issued here, and is refused
 * without asking the database; and the database holds nothing that could be presented.
 *
 *   prefix ‖ base64url(kind, key number, user id, grant id, generation [, expiry, scope]) ‖ tag
 *
 * The payload's length is a multiple of three bytes and the tag is compared as text, so
 * that one credential has exactly one spelling.
 */
export type LinkCredential = {
  readonly userId: string;
  readonly grantId: string;
  /** The link of the grant's chain: 0 is the code, n ≥ 1 the n-th refresh token. */
  readonly generation: number;
};

export type AccessCredential = LinkCredential & { readonly expiresAt: number; readonly scope: ScopeSet };

/** One character more than base64url of 128 bits needs: 132 bits of the tag are kept. */
const TAG_LENGTH = 22;
const LINK_BYTES = 1 + 2 + 16 + 16 + 4;
const ACCESS_BYTES = LINK_BYTES + 6 + 3;
const BLOCK = 64;

type Kind = 'code' | 'refresh' | 'access';
const KINDS: Record<Kind, { readonly byte: number; readonly prefix: string; readonly size: number }> = {
  code: { byte: 1, prefix: 'postern_code_', size: LINK_BYTES },
  refresh: { byte: 2, prefix: 'postern_rt_', size: LINK_BYTES },
  access: { byte: 3, prefix: 'postern_at_', size: ACCESS_BYTES },
};

/** How a credential of each kind looks; also what a log or a secret scanner searches for. */
const spelling = (kind: Kind) =>
  new RegExp(`^${KINDS[kind].prefix}[A-Za-z0-9_-]{${(KINDS[kind].size * 4) / 3 + TAG_LENGTH}}$`);
const SPELLING: Record<Kind, RegExp> = {
  code: spelling('code'),
  refresh: spelling('refresh'),
  access: spelling('access'),
};

/** 128 random bits as 22 characters: user and grant ids. A grant id is what a stolen key alone cannot guess. */
export const newId = (): string => randomBytes(16).toString('base64url');

type Pads = { readonly inner: Buffer; readonly outer: Buffer };

function padsOf(key: Buffer): Pads {
  const pad = (byte: number, room: number) => {
    const block = Buffer.alloc(BLOCK + room, 0);
    block.fill(byte, 0, BLOCK);
    for (let i = 0; i < key.length; i++) block[i] = byte ^ key[i]!;
    return block;
  };
  return { inner: pad(0x36, ACCESS_BYTES), outer: pad(0x5c, 32) };
}

/**
 * The sealing key of a number, derived from the service's secret (RFC 5869), so that the database never
 * holds one: the salt it keeps is worth nothing without the secret.
 */
export function sealingKey(secret: Buffer, number: number, salt = ''): Buffer {
  const bytes = Buffer.from(salt, 'base64url');
  return Buffer.from(hkdfSync('sha256', secret, bytes, `postern sealing key ${number}`, 32));
}

export class Sealer {
  readonly #keys = new Map<number, Pads>();
  readonly #sealing: number;
  readonly #presented = Buffer.alloc(TAG_LENGTH);
  readonly #expected = Buffer.alloc(TAG_LENGTH);

  /** Every key opens, one seals: the newest unless said otherwise. Keys are 32 bytes; their numbers fit two bytes. */
  constructor(keys: ReadonlyMap<number, Buffer>, sealing = Math.max(...keys.keys())) {
    if (!keys.has(sealing)) throw new Error('a sealer needs a key to seal with');
    for (const [number, key] of keys) this.#keys.set(number, padsOf(key));
    this.#sealing = sealing;
  }

  sealCode(link: LinkCredential): string {
    return this.#sealLink('code', link);
  }

  sealRefreshToken(link: LinkCredential): string {
    return this.#sealLink('refresh', link);
  }

  sealAccessToken(token: AccessCredential): string {
    const pads = this.#keys.get(this.#sealing)!;
    writeLink(pads.inner, KINDS.access.byte, this.#sealing, token);
    pads.inner.writeUIntBE(token.expiresAt, BLOCK + LINK_BYTES, 6);
    pads.inner.writeUIntBE(token.scope, BLOCK + LINK_BYTES + 6, 3);
    return KINDS.access.prefix + seal(pads, ACCESS_BYTES);
  }

  openCode(text: string): LinkCredential | undefined {
    const bytes = this.#open('code', text);
    return bytes && readLink(bytes);
  }

  openRefreshToken(text: string): LinkCredential | undefined {
    const bytes = this.#open('refresh', text);
    return bytes && readLink(bytes);
  }

  openAccessToken(text: string): AccessCredential | undefined {
    const bytes = this.#open('access', text);
    if (!bytes) return undefined;
    const link = readLink(bytes);
    return {
      userId: link.userId,
      grantId: link.grantId,
      generation: link.generation,
      expiresAt: bytes.readUIntBE(BLOCK + LINK_BYTES, 6),
      scope: bytes.readUIntBE(BLOCK + LINK_BYTES + 6, 3),
    };
  }

  #sealLink(kind: 'code' | 'refresh', link: LinkCredential): string {
    const pads = this.#keys.get(this.#sealing)!;
    writeLink(pads.inner, KINDS[kind].byte, this.#sealing, link);
    return KINDS[kind].prefix + seal(pads, LINK_BYTES);
  }

  /** The payload in its key's buffer (read it before the next call), or undefined when it was not sealed here. */
  #open(kind: Kind, text: string): Buffer | undefined {
    if (!SPELLING[kind].test(text)) return undefined;
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

function writeLink(into: Buffer, kind: number, key: number, link: LinkCredential): void {
  into[BLOCK] = kind;
  into.writeUInt16BE(key, BLOCK + 1);
  into.write(link.userId, BLOCK + 3, 16, 'base64url');
  into.write(link.grantId, BLOCK + 19, 16, 'base64url');
  into.writeUInt32BE(link.generation, BLOCK + 35);
}

function readLink(from: Buffer): LinkCredential {
  return {
    userId: from.toString('base64url', BLOCK + 3, BLOCK + 19),
    grantId: from.toString('base64url', BLOCK + 19, BLOCK + 35),
    generation: from.readUInt32BE(BLOCK + 35),
  };
}

function seal(pads: Pads, size: number): string {
  return pads.inner.toString('base64url', BLOCK, BLOCK + size) + tag(pads, size);
}

/**
 * HMAC (RFC 2104) over the payload in `inner`, from two one-shot hashes on prepared pads:
 * a third of the time of createHmac here, because no object is made per call
 * (docs/decisions/003-sealed-credentials.md). A test holds it against createHmac.
 */
function tag(pads: Pads, size: number): string {
  const digest = hash('sha256', pads.inner.subarray(0, BLOCK + size), 'latin1');
  pads.outer.write(digest, BLOCK, 'latin1');
  return hash('sha256', pads.outer, 'base64url').slice(0, TAG_LENGTH);
}
