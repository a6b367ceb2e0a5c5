import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { network, site } from '../protocol/address.ts';
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

type Waiter = { readonly start: () => void; readonly refuse: (reason: TemporarilyUnavailable) => void };

/**
 * Argon2id off the event loop, a bounded number at once: each hash takes 19 MiB and a core for some tens of
 * milliseconds, so a flood of sign-ins must not exhaust the machine. The queue is bounded and fair: networks take
 * turns, and each has a few places. Beyond them it throws TemporarilyUnavailable.
 */
export class PasswordHasher {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #maxWaitingPerNetwork: number;
  #running = 0;
  #waiting = 0;
  /** Per network, the one whose turn is next first. */
  readonly #queues = new Map<string, Waiter[]>();

  constructor(maxRunning = 2, maxWaiting = 100, maxWaitingPerNetwork = 10) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
    this.#maxWaitingPerNetwork = maxWaitingPerNetwork;
  }

  /**
   * In the PHC string format. NFKC, so that a password typed on another keyboard is the same password. `address` is
   * the requester's, for the queue.
   */
  async hash(password: string, address = ''): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const tag = await this.#derive(address, password, {
      nonce,
      memory: MEMORY_KIB,
      passes: PASSES,
      parallelism: LANES,
      tagLength: TAG_BYTES,
    });
    return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(nonce)}$${unpadded(tag)}`;
  }

  /** Without a stored hash (an unknown user) the result is false, after the same time. */
  async verify(password: string, stored: string | undefined, address = ''): Promise<boolean> {
    const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored ?? DECOY_HASH);
    if (!match) throw new Error('a stored password hash is not in the expected format');
    const expected = Buffer.from(match[5]!, 'base64');
    const tag = await this.#derive(address, password, {
      nonce: Buffer.from(match[4]!, 'base64'),
      memory: Number(match[1]),
      passes: Number(match[2]),
      parallelism: Number(match[3]),
      tagLength: expected.length,
    });
    return timingSafeEqual(tag, expected) && stored !== undefined;
  }

  async #derive(
    address: string,
    password: string,
    parameters: Omit<Argon2Parameters, 'message'>,
  ): Promise<Buffer> {
    await this.#acquire(site(address) ?? network(address));
    try {
      return await argon2Async('argon2id', { ...parameters, message: password.normalize('NFKC') });
    } finally {
      this.#release();
    }
  }

  async #acquire(from: string): Promise<void> {
    if (this.#running < this.#maxRunning) {
      this.#running++;
      return;
    }
    const queue = this.#queues.get(from) ?? [];
    if (queue.length >= this.#maxWaitingPerNetwork) throw tooBusy();
    if (this.#waiting >= this.#maxWaiting) this.#makeRoom(queue.length);
    this.#queues.set(from, queue);
    this.#waiting++;
    await new Promise<void>((start, refuse) => queue.push({ start, refuse }));
  }

  /** Takes a place from the network that has the most, unless the newcomer would then have no fewer. */
  #makeRoom(places: number): void {
    const [largest = []] = [...this.#queues.values()].sort((a, b) => b.length - a.length);
    if (largest.length < places + 2) throw tooBusy();
    this.#waiting--;
    largest.pop()!.refuse(tooBusy());
  }

  /** Hands the slot to the next network's first waiter; it becomes free only if none waits. */
  #release(): void {
    const [turn] = this.#queues;
    if (!turn) {
      this.#running--;
      return;
    }
    const [from, queue] = turn;
    this.#queues.delete(from);
    const next = queue.shift()!;
    if (queue.length > 0) this.#queues.set(from, queue);
    this.#waiting--;
    next.start();
  }
}

const tooBusy = () => new TemporarilyUnavailable('too many passwords are waiting to be hashed');

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
