import { isCommonPassword } from './common-passwords.ts';

export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 128;

/** Characters a password must have beside the user's own words. */
const MIN_OWN_CHARACTERS = 4;

/**
 * NIST SP 800-63B: a length, and nothing that is guessed first (common passwords, the user's own name
 * and address in `userWords`). No rules of composition. Characters are counted, not bytes.
 */
export function passwordFault(password: string, userWords: readonly string[] = []): string | undefined {
  const length = [...password].length;
  if (length < MIN_PASSWORD_LENGTH) return `The password needs at least ${MIN_PASSWORD_LENGTH} characters.`;
  if (length > MAX_PASSWORD_LENGTH) return `The password can have at most ${MAX_PASSWORD_LENGTH} characters.`;
  if (isCommonPassword(password)) return 'This password is among the first that are tried. Choose another.';
  if (withoutWords(password, userWords).length < MIN_OWN_CHARACTERS)
    return 'This password is too close to your name or e-mail address. Choose another.';
  return undefined;
}

/** The password without words that anybody who knows the user would try; empty if one character repeated is left. */
function withoutWords(password: string, userWords: readonly string[]): string {
  const normalize = (text: string) => text.normalize('NFKC').toLowerCase();
  const words = userWords
    .map(normalize)
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)])
    .filter((word) => word.length >= 3)
    .sort((a, b) => b.length - a.length);
  const rest = [...words, 'postern'].reduce((text, word) => text.replaceAll(word, ''), normalize(password));
  return new Set(rest).size === 1 ? '' : rest;
}
