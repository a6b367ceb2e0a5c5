import { createHmac, timingSafeEqual } from 'node:crypto';

/** HMAC-SHA-256 over a purpose and a text: what was signed for one purpose never verifies for another. */
export class Signer {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  sign(purpose: string, text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\0${text}`).digest('base64url');
  }

  verify(purpose: string, text: string, signature: string): boolean {
    const expected = Buffer.from(this.sign(purpose, text));
    const presented = Buffer.from(signature);
    return presented.length === expected.length && timingSafeEqual(presented, expected);
  }
}
