/** Rules for the fields of a profile that a user can edit. A `…Fault` is the text shown at the field. */

export const MAX_USERNAME_LENGTH = 40;
export const MAX_PICTURE_LENGTH = 500;
export const MAX_LOCALE_LENGTH = 35;

const USERNAME = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${MAX_USERNAME_LENGTH - 1}}$`);

export function usernameFault(text: string): string | undefined {
  if (USERNAME.test(text)) return undefined;
  return `Up to ${MAX_USERNAME_LENGTH} letters, digits, dots, dashes and underscores; a letter or digit first.`;
}

export function pictureFault(text: string): string | undefined {
  if (isPictureUrl(text)) return undefined;
  return `An address of at most ${MAX_PICTURE_LENGTH} characters that begins with https://`;
}

/** Other people's browsers load it, so it must be https and carry no credentials. */
function isPictureUrl(text: string): boolean {
  if (text.length > MAX_PICTURE_LENGTH || !/^https:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text))
    return false;
  const url = new URL(text);
  return url.protocol === 'https:' && !url.username && !url.password && !/["<>\\^`{|}]/.test(text);
}

export function localeFault(text: string): string | undefined {
  return canonicalLocale(text) === undefined ? 'A language such as en, de-CH or pt-BR.' : undefined;
}

/** The canonical spelling of a BCP 47 language tag, or undefined when it is not one. */
export function canonicalLocale(text: string): string | undefined {
  try {
    return text.length <= MAX_LOCALE_LENGTH ? Intl.getCanonicalLocales(text)[0] : undefined;
  } catch {
    return undefined;
  }
}
