import { MAX_NAME_LENGTH, nameFault } from './name.ts';
import {
  canonicalLocale,
  localeFault,
  MAX_LOCALE_LENGTH,
  MAX_PICTURE_LENGTH,
  MAX_USERNAME_LENGTH,
  pictureFault,
  usernameFault,
} from './profile-rules.ts';
import { includes, NO_SCOPE, type ScopeName, type ScopeSet, scopeOf } from './scope.ts';

export type ProfileField = {
  readonly property: string;
  /** In the table `users`. */
  readonly column: string;
  readonly claim: string;
  /** The scope that gives access to the claim. `sub` needs none. */
  readonly scope?: ScopeName;
  /** Of the claim. */
  readonly type: 'string' | 'integer' | 'boolean';
  /** Null while the user has not set it; the claim is then left out. */
  readonly nullable?: true;
  /** For OpenAPI: `description`, the scope, then `note`. */
  readonly description: string;
  readonly note?: string;
  readonly format?: string;
  /** In the OpenAPI example of a response. */
  readonly example?: string | number | boolean;
  /** On the consent screen, with the user's value. */
  readonly consentLabel?: string;
  /** On the account page, when the user can edit it. */
  readonly input?: ProfileInputField;
};

type ProfileInputField = {
  readonly label: string;
  readonly type?: 'text' | 'url' | 'tel';
  readonly hint?: string;
  /** An autofill token of the HTML standard. */
  readonly autocomplete: string;
  readonly maxLength: number;
  /** The error for an empty value, which is otherwise allowed and stored as null. */
  readonly required?: string;
  /** The error for a value that is not empty. */
  readonly fault: (text: string) => string | undefined;
  /** The spelling that is stored, of a text without a fault. */
  readonly canonical?: (text: string) => string | undefined;
};

/**
 * Every field of a user that an application may read, in the order in which claims are sent and forms are shown.
 * Claims and their scopes are those of OpenID Connect Core 5.1 and 5.4. To add a field: a row here, a line in
 * `profileFrom` and in `claimsFor` (the compiler asks for both), and a column in a migration.
 */
const FIELDS = [
  {
    property: 'id',
    column: 'id',
    claim: 'sub',
    type: 'string',
    description: 'The user. Stable, never given to anybody else.',
    example: 'zXw3…',
  },
  {
    property: 'name',
    column: 'name',
    claim: 'name',
    scope: 'profile',
    type: 'string',
    nullable: true,
    description: 'Full name.',
    example: 'Ada Lovelace',
    consentLabel: 'name',
    input: {
      label: 'Name',
      autocomplete: 'name',
      maxLength: MAX_NAME_LENGTH,
      required: 'Tell us what to call you.',
      fault: nameFault,
    },
  },
  {
    property: 'preferredUsername',
    column: 'preferred_username',
    claim: 'preferred_username',
    scope: 'profile',
    type: 'string',
    nullable: true,
    description: 'User name.',
    note: 'Not unique, may change.',
    consentLabel: 'user name',
    input: {
      label: 'User name (optional)',
      hint: 'How you like to be called. Others may use the same.',
      autocomplete: 'nickname',
      maxLength: MAX_USERNAME_LENGTH,
      fault: usernameFault,
    },
  },
  {
    property: 'picture',
    column: 'picture',
    claim: 'picture',
    scope: 'profile',
    type: 'string',
    nullable: true,
    description: 'Address of a picture.',
    format: 'uri',
    consentLabel: 'picture',
    input: {
      label: 'Picture (optional)',
      type: 'url',
      hint: 'The address of an image, beginning with https://',
      autocomplete: 'photo',
      maxLength: MAX_PICTURE_LENGTH,
      fault: pictureFault,
    },
  },
  {
    property: 'locale',
    column: 'locale',
    claim: 'locale',
    scope: 'profile',
    type: 'string',
    nullable: true,
    description: 'Preferred language (BCP 47).',
    consentLabel: 'language',
    input: {
      label: 'Language (optional)',
      hint: 'Such as en, de-CH or pt-BR.',
      autocomplete: 'language',
      maxLength: MAX_LOCALE_LENGTH,
      fault: localeFault,
      canonical: canonicalLocale,
    },
  },
  {
    property: 'updatedAt',
    column: 'updated_at',
    claim: 'updated_at',
    scope: 'profile',
    type: 'integer',
    description: 'When the profile last changed, in seconds since 1970.',
    example: 1893456000,
  },
  {
    property: 'email',
    column: 'email',
    claim: 'email',
    scope: 'email',
    type: 'string',
    description: 'E-mail address.',
    example: 'ada@example.com',
    consentLabel: 'e-mail',
  },
  {
    property: 'emailVerified',
    column: 'email_verified_at',
    claim: 'email_verified',
    scope: 'email',
    type: 'boolean',
    description: 'True only when the user proved control of this very address; false again when it changes.',
    example: true,
  },
] as const satisfies readonly ProfileField[];

type Field = (typeof FIELDS)[number];
type ClaimTypes = { string: string; integer: number; boolean: boolean };
type ValueOf<F extends Field> = ClaimTypes[F['type']] | (F extends { nullable: true } ? null : never);

export type Profile = { readonly [F in Field as F['property']]: ValueOf<F> };

/** JSON leaves out what is undefined: claims of another scope, and those without a value. */
type Claims = {
  readonly [F in Field as F['claim']]:
    | ClaimTypes[F['type']]
    | (F extends { scope: string } ? undefined : never);
};

type EditableProperty = Extract<Field, { input: ProfileInputField }>['property'];
/** The editable fields as they stand in the form, valid or not. */
export type ProfileInput = Readonly<Record<EditableProperty, string>>;
export type ProfileFaults = { readonly [Property in EditableProperty]?: string | undefined };
/** The editable fields as they are stored. */
export type ProfileChanges = Pick<Profile, EditableProperty>;

export const PROFILE_FIELDS: readonly (ProfileField & { readonly property: keyof Profile })[] = FIELDS;

export const EDITABLE_FIELDS: readonly (ProfileField & {
  readonly property: EditableProperty;
  readonly input: ProfileInputField;
})[] = FIELDS.filter((field) => 'input' in field);

export const PROFILE_COLUMNS: readonly string[] = FIELDS.map(({ column }) => column);

const byProperty = <T>(
  value: (field: ProfileField, index: number) => T,
): Readonly<Record<keyof Profile, T>> =>
  Object.fromEntries(FIELDS.map((field, index) => [field.property, value(field, index)])) as Record<
    keyof Profile,
    T
  >;

const INDEX = byProperty((_, index) => index);
const SCOPE = byProperty(({ scope }) => (scope === undefined ? NO_SCOPE : scopeOf(scope)));

/** A profile from the values of `PROFILE_COLUMNS`, in their order. */
export function profileFrom(values: readonly (string | number | null)[]): Profile {
  return {
    id: values[INDEX.id] as string,
    name: values[INDEX.name] as string | null,
    preferredUsername: values[INDEX.preferredUsername] as string | null,
    picture: values[INDEX.picture] as string | null,
    locale: values[INDEX.locale] as string | null,
    updatedAt: Number(values[INDEX.updatedAt]),
    email: values[INDEX.email] as string,
    emailVerified: values[INDEX.emailVerified] !== null,
  };
}

/**
 * The claims that a scope gives access to. This and `profileFrom` do not loop over the fields, because a loop takes
 * about ten times as long (some 400 instead of 40 ns) and every userinfo request calls both.
 */
export function claimsFor(user: Profile, scope: ScopeSet): Claims {
  const granted = <T>(required: ScopeSet, value: T | null): T | undefined =>
    value === null || !includes(scope, required) ? undefined : value;
  return {
    sub: user.id,
    name: granted(SCOPE.name, user.name),
    preferred_username: granted(SCOPE.preferredUsername, user.preferredUsername),
    picture: granted(SCOPE.picture, user.picture),
    locale: granted(SCOPE.locale, user.locale),
    updated_at: granted(SCOPE.updatedAt, Math.floor(user.updatedAt / 1000)),
    email: granted(SCOPE.email, user.email),
    email_verified: granted(SCOPE.emailVerified, user.emailVerified),
  };
}
