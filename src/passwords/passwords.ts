import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { TemporarilyUnavailable } from '../protocol/errors.ts';
import { isCommonPassword } from './common-passwords.ts';

const argon2Async = promisify(argon2);

/** OWASP's recommendation for Argon2id: 19 MiB, two passes, one lane. */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** Stands in for the hash of a user who does not exist, so that both answers take the same time. */
const DECOY = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 128;

/** What is left of a password beside the user's own words must be this long to count for anything. */
const MIN_REST = 4;

/**
 * NIST SP 800-63B: a length, and not what is guessed first: common passwords and the user's own
 * name and address (`about`). Nothing else is demanded. Characters are counted, not bytes.
 */
export function passwordFault(password: string, about: readonly string[] = []): string | undefined {
  const length = [...password].length;
  if (length < MIN_PASSWORD_LENGTH) return `The password needs at least ${MIN_PASSWORD_LENGTH} characters.`;
  if (length > MAX_PASSWORD_LENGTH) return `The password can have at most ${MAX_PASSWORD_LENGTH} characters.`;
  if (isCommonPassword(password)) return 'This password is among the first that are tried. Choose another.';
  if (restBeside(password, about).length < MIN_REST)
    return 'This password is too close to your name or e-mail address. Choose another.';
  return undefined;
}

/** The password without the words that anybody who knows the user would try, and without a single repeated character. */
function restBeside(password: string, about: readonly string[]): string {
  const plain = (text: string) => text.normalize('NFKC').toLowerCase();
  const words = about
    .map(plain)
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)])
    .filter((word) => word.length >= 3)
    .sort((a, b) => b.length - a.length);
  const rest = [...words, 'postern'].reduce((text, word) => text.replaceAll(word, ''), plain(password));
  return new Set(rest).size === 1 ? '' : rest;
}

/** Too many passwords wait to be hashed: the caller answers "busy" rather than let memory and time grow. */
export class PasswordsBusy extends TemporarilyUnavailable {
  override readonly name = 'PasswordsBusy';
}

/**
 * Argon2id off the event loop, a bounded number at once: each takes 19 MiB and a core for
 * some tens of milliseconds, so a flood of sign-ins must not take the machine.
 */
export class Passwords {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce = 2, mostWaiting = 100) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  /** In the PHC string format. NFKC, so that a password typed on another keyboard is the same password. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const tag = await this.#derive(password, salt, MEMORY_KIB, PASSES, LANES, TAG_BYTES);
    return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(salt)}$${unpadded(tag)}`;
  }

  async verify(password: string, stored: string | undefined): Promise<boolean> {
    const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored ?? DECOY);
    if (!match) throw new Error('a stored password hash is not in the expected format');
    const [memory, passes, lanes] = [Number(match[1]), Number(match[2]), Number(match[3])];
    const expected = Buffer.from(match[5]!, 'base64');
    const tag = await this.#derive(
      password,
      Buffer.from(match[4]!, 'base64'),
      memory,
      passes,
      lanes,
      expected.length,
    );
    return timingSafeEqual(tag, expected) && stored !== undefined;
  }

  async #derive(
    password: string,
    nonce: Buffer,
    memory: number,
    passes: number,
    parallelism: number,
    tagLength: number,
  ) {
    await this.#turn();
    try {
      const parameters: Argon2Parameters = {
        message: password.normalize('NFKC'),
        nonce,
        memory,
        passes,
        parallelism,
        tagLength,
      };
      return await argon2Async('argon2id', parameters);
    } finally {
      // The place goes straight to who waits longest; only without one does it become free.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < this.#atOnce) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= this.#mostWaiting)
      throw new PasswordsBusy('too many passwords are waiting to be checked');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
