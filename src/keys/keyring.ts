import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { Passwords } from '../passwords/passwords.ts';
import { deriveSigningKey, TokenSigner } from '../protocol/credentials.ts';
import { type ScheduledKeyState, schedule } from '../protocol/key-schedule.ts';
import type { KeyStore, SigningKeyRecord } from '../store/store.ts';

const FILE = 'secret';
const RELOAD_MS = 1_000;

/** Everything Postern signs with, each key derived from the one secret for one purpose (RFC 5869). */
export type Keys = {
  readonly tokenSigner: TokenSigner;
  /** For what a page hands out and gets back: form tokens and consent requests. */
  readonly pageSigner: Signer;
};

/** Signs texts of a stated purpose. */
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

export const deriveKeys = (secret: string): Keyring => new Keyring(secret, Number.POSITIVE_INFINITY);

/** The keys of a running node. Sealing keys that another process adds come in while it runs. */
export class Keyring implements Keys {
  readonly pageSigner: Signer;
  readonly #master: Buffer;
  readonly #maxTtlMs: number;
  readonly #readAt = new Map<number, number>();
  #records: readonly SigningKeyRecord[] = [];
  #inUse = '1 1';
  #sealer: TokenSigner;
  #timer: NodeJS.Timeout | undefined;

  constructor(secret: string, maxTtlMs: number) {
    this.#master = Buffer.from(secret, 'utf8');
    this.#maxTtlMs = maxTtlMs;
    this.#sealer = new TokenSigner(new Map([[1, deriveSigningKey(this.#master, 1)]]));
    this.pageSigner = new Signer(Buffer.from(hkdfSync('sha256', this.#master, '', 'postern pages', 32)));
  }

  get tokenSigner(): TokenSigner {
    return this.#sealer;
  }

  async reload(store: KeyStore, now: number): Promise<void> {
    this.#records = await store.list();
    for (const { number } of this.#records) if (!this.#readAt.has(number)) this.#readAt.set(number, now);
    this.#use(this.states(now));
  }

  states(now: number): ScheduledKeyState[] {
    return schedule(this.#records, now, this.#maxTtlMs, (number) => this.#readAt.get(number) ?? now);
  }

  /** Until stop(). A failed reading is made up for by the next. */
  watch(store: KeyStore, now: () => number, failed: (error: unknown) => void): void {
    this.#timer = setTimeout(async () => {
      await this.reload(store, now()).catch(failed);
      if (this.#timer) this.watch(store, now, failed);
    }, RELOAD_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #use(states: readonly ScheduledKeyState[]): void {
    const numbers = states.map(({ key }) => key.number);
    const sealing = states.find(({ state }) => state === 'signing')!.key.number;
    const wanted = [...numbers, sealing].join(' ');
    if (wanted === this.#inUse) return;
    const saltOf = (number: number) => this.#records.find((record) => record.number === number)?.salt;
    const keys = numbers.map(
      (number) => [number, deriveSigningKey(this.#master, number, saltOf(number))] as const,
    );
    this.#sealer = new TokenSigner(new Map(keys), sealing);
    this.#inUse = wanted;
  }
}

/** How long anything that a sealing key sealed can live. */
export const maxTokenTtlMs = ({ codeTtlMs, accessTokenTtlMs, refreshTokenTtlMs }: Config): number =>
  Math.max(codeTtlMs, accessTokenTtlMs, refreshTokenTtlMs);

/**
 * Whether the database belongs to this secret; the first secret to ask makes it its own. The database
 * keeps a slow hash of it: all nodes must have the same one, and two that differ look like random refusals.
 */
export async function claimDatabase(store: KeyStore, secret: string): Promise<boolean> {
  const kept = await store.fingerprint();
  if (kept !== undefined) return matchesFingerprint(secret, kept);
  const own = await new Passwords().hash(secret);
  const first = await store.keepFingerprint(own);
  return first === own || matchesFingerprint(secret, first);
}

export const matchesFingerprint = (secret: string, fingerprint: string): Promise<boolean> =>
  new Passwords().verify(secret, fingerprint);

export async function adoptSecret(store: KeyStore, secret: string): Promise<void> {
  await store.replaceFingerprint(await new Passwords().hash(secret));
}

export const secretFile = (config: Config): string => join(config.dataDir, FILE);

/** The secret from the settings, or the one in the data folder, made there the first time. */
export function loadSecret(config: Config): string {
  if (config.secret !== undefined) return config.secret;
  const path = secretFile(config);
  if (!existsSync(path)) makeSecret(config.dataDir, path);
  const secret = readFileSync(path, 'utf8').trim();
  if (Buffer.byteLength(secret) >= 32) return secret;
  throw new Error(
    `${path} does not hold a secret of at least 32 bytes. Restore it from a backup, or delete it: every token then ends.`,
  );
}

/** Written whole under another name first: two processes that start together end with one secret. */
function makeSecret(folder: string, path: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(48).toString('base64url')}\n`, { mode: 0o600 });
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
}
