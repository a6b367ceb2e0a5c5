import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, MIN_SECRET_BYTES } from '../config.ts';

const NEW_SECRET_BYTES = 48;

export const secretPath = (config: Config): string => join(config.dataDir, 'secret');

/** False before the first start, which creates the file. */
export const secretExists = (config: Config): boolean =>
  config.secret !== undefined || existsSync(secretPath(config));

/** The secret from the settings, or the one in the data folder, which is created on first use. */
export function loadSecret(config: Config): string {
  if (config.secret !== undefined) return config.secret;
  const path = secretPath(config);
  if (!existsSync(path)) createSecret(config.dataDir, path);
  const secret = readFileSync(path, 'utf8').trim();
  if (Buffer.byteLength(secret) >= MIN_SECRET_BYTES) return secret;
  throw new Error(
    `${path} does not contain a secret of at least ${MIN_SECRET_BYTES} bytes. Restore it from a backup, or ` +
      'replace it as docs/operations.md says: all tokens then become invalid.',
  );
}

/** Written to a draft, then linked: of two processes that start together, both end up with the same secret. */
function createSecret(folder: string, path: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(NEW_SECRET_BYTES).toString('base64url')}\n`, { mode: 0o600 });
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
}
