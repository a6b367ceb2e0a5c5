import { readFileSync } from 'node:fs';

/**
 * The passwords that are tried first: those of eight characters and more among the 49,000 most
 * common. Where the list comes from: docs/decisions/023-passwords.md.
 */
const FILE = new URL('./common-passwords.txt', import.meta.url);

let list: ReadonlySet<string> | undefined;

/** Without regard to case. The list is read when first needed: most commands never do. */
export function isCommonPassword(password: string): boolean {
  list ??= new Set(readFileSync(FILE, 'utf8').split('\n'));
  return list.has(password.normalize('NFKC').toLowerCase());
}
