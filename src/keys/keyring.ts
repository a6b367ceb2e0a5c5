import { hkdfSync } from 'node:crypto';
import type { Config } from '../config.ts';
import { deriveSigningKey, TokenSigner } from '../protocol/credentials.ts';
import { type ScheduledKeyState, schedule } from '../protocol/key-schedule.ts';
import type { SigningKeyRecord, SqlSigningKeys } from '../store/signing-keys.ts';
import { Signer } from './signer.ts';

const RELOAD_INTERVAL_MS = 1_000;
const PAGE_KEY_BYTES = 32;

/** Everything Postern signs with. Each key is derived from the one secret for one purpose (RFC 5869). */
export type Keys = {
  readonly tokenSigner: TokenSigner;
  /** For values that a page hands out and gets back: CSRF tokens, consent requests, device cookies. */
  readonly pageSigner: Signer;
};

/** The keys of a running node. It picks up signing keys that another process adds. */
export class Keyring implements Keys {
  readonly pageSigner: Signer;
  readonly #secret: Buffer;
  readonly #maxTokenTtlMs: number;
  readonly #firstReadAt = new Map<number, number>();
  #records: readonly SigningKeyRecord[] = [];
  /** Numbers of the keys that `#tokenSigner` has, then of the one it signs with. */
  #inUse = '1 1';
  #tokenSigner: TokenSigner;
  #timer: NodeJS.Timeout | undefined;

  constructor(secret: string, maxTokenTtlMs: number) {
    this.#secret = Buffer.from(secret, 'utf8');
    this.#maxTokenTtlMs = maxTokenTtlMs;
    this.#tokenSigner = new TokenSigner(new Map([[1, deriveSigningKey(this.#secret, 1)]]));
    const pageKey = hkdfSync('sha256', this.#secret, '', 'postern pages', PAGE_KEY_BYTES);
    this.pageSigner = new Signer(Buffer.from(pageKey));
  }

  get tokenSigner(): TokenSigner {
    return this.#tokenSigner;
  }

  async reload(store: SqlSigningKeys, now: number): Promise<void> {
    this.#records = await store.list();
    for (const { number } of this.#records)
      if (!this.#firstReadAt.has(number)) this.#firstReadAt.set(number, now);
    this.#use(this.states(now));
  }

  states(now: number): ScheduledKeyState[] {
    const firstReadAt = (number: number) => this.#firstReadAt.get(number) ?? now;
    return schedule(this.#records, now, this.#maxTokenTtlMs, firstReadAt);
  }

  /** Reloads every second until stop(). A failed reload is made up for by the next one. */
  watch(store: SqlSigningKeys, now: () => number, onError: (error: unknown) => void): void {
    this.#timer = setTimeout(async () => {
      await this.reload(store, now()).catch(onError);
      if (this.#timer) this.watch(store, now, onError);
    }, RELOAD_INTERVAL_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #use(states: readonly ScheduledKeyState[]): void {
    const numbers = states.map(({ key }) => key.number);
    const signing = states.find(({ state }) => state === 'signing')!.key.number;
    const wanted = [...numbers, signing].join(' ');
    if (wanted === this.#inUse) return;
    const saltOf = (number: number) => this.#records.find((record) => record.number === number)?.salt;
    const keys = numbers.map(
      (number) => [number, deriveSigningKey(this.#secret, number, saltOf(number))] as const,
    );
    this.#tokenSigner = new TokenSigner(new Map(keys), signing);
    this.#inUse = wanted;
  }
}

/** The longest that anything a signing key signed can live. */
export const maxTokenTtlMs = ({ codeTtlMs, accessTokenTtlMs, refreshTokenTtlMs }: Config): number =>
  Math.max(codeTtlMs, accessTokenTtlMs, refreshTokenTtlMs);
