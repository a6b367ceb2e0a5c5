import type { App } from '../app.ts';
import { MAX_PASSWORD_LENGTH } from '../passwords/password-rules.ts';

/** UTF-16 units of the longest password, with room for characters that NFKC shortens. */
const MAX_INPUT_LENGTH = 4 * MAX_PASSWORD_LENGTH;

/** Without a hash (an unknown user) the result is false, after the same time. */
export async function isPassword(app: App, text: string, hash: string | undefined): Promise<boolean> {
  return text.length <= MAX_INPUT_LENGTH && app.passwords.verify(text, hash);
}
