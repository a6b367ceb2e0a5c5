import { includes, type ScopeSet, scopeOf } from './scope.ts';

/** What Postern knows of a user that an application may ever see. */
export type Profile = {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string | null;
  readonly preferredUsername: string | null;
  readonly picture: string | null;
  readonly locale: string | null;
  readonly updatedAt: number;
};

/** The claims of OpenID Connect Core 5.1, by the scope that opens them (5.4). Unknown ones are left out. */
export type Claims = {
  sub: string;
  name?: string;
  preferred_username?: string;
  picture?: string;
  locale?: string;
  updated_at?: number;
  email?: string;
  email_verified?: boolean;
};

/** Every claim there can be, as the metadata announces them. */
export const CLAIM_NAMES: readonly (keyof Claims)[] = [
  'sub',
  'name',
  'preferred_username',
  'picture',
  'locale',
  'updated_at',
  'email',
  'email_verified',
];

export function claimsFor(user: Profile, scope: ScopeSet): Claims {
  const claims: Claims = { sub: user.id };
  if (includes(scope, scopeOf('profile'))) {
    if (user.name !== null) claims.name = user.name;
    if (user.preferredUsername !== null) claims.preferred_username = user.preferredUsername;
    if (user.picture !== null) claims.picture = user.picture;
    if (user.locale !== null) claims.locale = user.locale;
    claims.updated_at = Math.floor(user.updatedAt / 1000);
  }
  if (includes(scope, scopeOf('email'))) {
    claims.email = user.email;
    claims.email_verified = user.emailVerified;
  }
  return claims;
}
