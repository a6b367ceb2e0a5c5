import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { TemporarilyUnavailable } from '../protocol/errors.ts';

const argon2Async = promisify(argon2);

/** OWASP's recommendation for Argon2id: 19 MiB, two passes, one lane. */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** Verified when the user does not exist, so that both responses take the same time. */
const DECOY_HASH = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/**
 * Argon2id off the event loop, a bounded number at once: each hash takes 19 MiB and a core for
 * some tens of milliseconds, so a flood of sign-ins must not exhaust the machine. Beyond a bounded
 * queue it throws TemporarilyUnavailable.
 */
export class PasswordHasher {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxRunning = 2, maxWaiting = 100) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** In the PHC string format. NFKC, so that a password typed on another keyboard is the same password. */
  async hash(password: string): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const tag = await this.#derive(password, {
      nonce,
      memory: MEMORY_KIB,
      passes: PASSES,
      parallelism: LANES,
      tagLength: TAG_BYTES,
    });
    return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(nonce)}$${unpadded(tag)}`;
  }

  /** Without a stored hash (an unknown user) the result is false, after the same time. */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored ?? DECOY_HASH);
    if (!match) throw new Error('a stored password hash is not in the expected format');
    const expected = Buffer.from(match[5]!, 'base64');
    const tag = await this.#derive(password, {
      nonce: Buffer.from(match[4]!, 'base64'),
      memory: Number(match[1]),
      passes: Number(match[2]),
      parallelism: Number(match[3]),
      tagLength: expected.length,
    });
    return timingSafeEqual(tag, expected) && stored !== undefined;
  }

  async #derive(password: string, parameters: Omit<Argon2Parameters, 'message'>): Promise<Buffer> {
    await this.#acquire();
    try {
      return await argon2Async('argon2id', { ...parameters, message: password.normalize('NFKC') });
    } finally {
      this.#release();
    }
  }

  async #acquire(): Promise<void> {
    if (this.#running < this.#maxRunning) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= this.#maxWaiting)
      throw new TemporarilyUnavailable('too many passwords are waiting to be hashed');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Hands the slot to the longest waiting caller; it becomes free only if none waits. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running--;
  }
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
