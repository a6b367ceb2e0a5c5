/** Control characters, line separators, and characters that reverse the direction of the text around them. */
export const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** A name of these characters alone would look empty on the consent screen. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Z}\u2800]/gu;

export const MAX_NAME_LENGTH = 80;

/** The error text for a name that users will read. Its length is counted in characters, not bytes. */
export function nameFault(name: string): string | undefined {
  const length = [...name].length;
  if (length < 1 || length > MAX_NAME_LENGTH) return `The name must have 1 to ${MAX_NAME_LENGTH} characters.`;
  if (UNPRINTABLE.test(name)) return 'The name holds a control character: leave it out.';
  return name.replaceAll(INVISIBLE, '') === ''
    ? 'The name needs at least one character that can be seen.'
    : undefined;
}
