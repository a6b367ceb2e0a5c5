import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { say } from './progress.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** Installs the servers to compare with into bench/node_modules; the service itself does not depend on them. */
export function installAtFirstUse(): void {
  const installed = `${FOLDER}node_modules/.package-lock.json`;
  const lock = `${FOLDER}package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  say('First use: installing the other servers into bench/node_modules (npm ci --prefix bench)…');
  execFileSync('npm', ['ci', '--prefix', FOLDER, '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
