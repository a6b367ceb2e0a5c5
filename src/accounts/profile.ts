import { nameFault } from '../protocol/name.ts';
import { param } from '../protocol/parameters.ts';
import type { ProfileChanges } from '../store/users.ts';

export type ProfileInput = {
  readonly name: string;
  readonly preferredUsername: string;
  readonly picture: string;
  readonly locale: string;
};
export type ProfileFaults = { readonly [Field in keyof ProfileInput]?: string | undefined };

const MAX_PICTURE_LENGTH = 500;
const USER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;

export function readProfile(form: ReadonlyMap<string, string>): ProfileInput {
  const text = (name: string) => (param(form, name) ?? '').trim();
  return {
    name: text('name'),
    preferredUsername: text('preferred_username'),
    picture: text('picture'),
    locale: text('locale'),
  };
}

export function profileFaults({ name, preferredUsername, picture, locale }: ProfileInput): ProfileFaults {
  const faults: { -readonly [Field in keyof ProfileInput]?: string } = {};
  const nameWrong = name === '' ? 'Tell us what to call you.' : nameFault(name);
  if (nameWrong) faults.name = nameWrong;
  if (preferredUsername !== '' && !USER_NAME.test(preferredUsername))
    faults.preferredUsername =
      'Up to 40 letters, digits, dots, dashes and underscores; a letter or digit first.';
  if (picture !== '' && !isPictureUrl(picture))
    faults.picture = `An address of at most ${MAX_PICTURE_LENGTH} characters that begins with https://`;
  if (locale !== '' && canonicalLocale(locale) === undefined)
    faults.locale = 'A language such as en, de-CH or pt-BR.';
  return faults;
}

/** What is to be kept of it: nothing is the absence of a claim, not an empty one. */
export function profileChanges({ name, preferredUsername, picture, locale }: ProfileInput): ProfileChanges {
  return {
    name,
    preferredUsername: preferredUsername || null,
    picture: picture || null,
    locale: canonicalLocale(locale) ?? null,
  };
}

/** Other people's browsers will load it: nothing but https, and no user name in it. */
function isPictureUrl(text: string): boolean {
  if (text.length > MAX_PICTURE_LENGTH || !/^https:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text))
    return false;
  const url = new URL(text);
  return url.protocol === 'https:' && !url.username && !url.password && !/["<>\\^`{|}]/.test(text);
}

function canonicalLocale(text: string): string | undefined {
  try {
    return text.length <= 35 ? Intl.getCanonicalLocales(text)[0] : undefined;
  } catch {
    return undefined;
  }
}
