import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { Sealer, sealingKey } from './protocol/credentials.ts';

const FILE = 'secret';

/** Everything Postern signs with, each key derived from the one secret for one purpose (RFC 5869). */
export type Keys = {
  readonly sealer: Sealer;
  /** For what a page hands out and gets back: form tokens and consent requests. */
  readonly pages: Signer;
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

export function deriveKeys(secret: string): Keys {
  const master = Buffer.from(secret, 'utf8');
  return {
    sealer: new Sealer(new Map([[1, sealingKey(master, 1)]])),
    pages: new Signer(Buffer.from(hkdfSync('sha256', master, '', 'postern pages', 32))),
  };
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
