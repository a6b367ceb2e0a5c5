import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { MAX_PASSWORD_LENGTH } from '../passwords/password-rules.ts';

/** UTF-16 units of the longest password, with room for characters that NFKC shortens. */
const MAX_INPUT_LENGTH = 4 * MAX_PASSWORD_LENGTH;

/** Takes the same time for every text, and without a hash (an unknown user), where the password is always wrong. */
export async function checkPassword(
  app: App,
  { ip }: HttpRequest,
  text: string,
  hash: string | undefined,
): Promise<'right' | 'wrong'> {
  const matches = await app.passwords.verify(text.slice(0, MAX_INPUT_LENGTH), hash, ip);
  return matches && text.length <= MAX_INPUT_LENGTH ? 'right' : 'wrong';
}
