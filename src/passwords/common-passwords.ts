import { readFileSync } from 'node:fs';

/**
 * The passwords that are guessed first: those of eight characters and more among the 49,000 most
 * common. Where the list comes from: docs/decisions/023-passwords.md.
 */
const FILE = new URL('./common-passwords.txt', import.meta.url);

let list: ReadonlySet<string> | undefined;

/** Ignores case. The list is read on first use: most commands never need it. */
export function isCommonPassword(password: string): boolean {
  list ??= new Set(readFileSync(FILE, 'utf8').split('\n'));
  return list.has(password.normalize('NFKC').toLowerCase());
}
