import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimsFor, PROFILE_FIELDS, type Profile } from '../../src/protocol/profile.ts';
import { NO_SCOPE, parseScope, type ScopeSet } from '../../src/protocol/scope.ts';

const ADA: Profile = {
  id: 'user-id',
  email: 'ada@example.com',
  emailVerified: true,
  name: 'Ada Lovelace',
  preferredUsername: 'ada',
  picture: 'https://pictures.example/ada',
  locale: 'en-GB',
  updatedAt: Date.UTC(2030, 0, 1) + 999,
};
const profileClaims = {
  name: 'Ada Lovelace',
  preferred_username: 'ada',
  picture: 'https://pictures.example/ada',
  locale: 'en-GB',
  updated_at: Date.UTC(2030, 0, 1) / 1000,
};

/** The response body: JSON leaves out undefined values. */
const sent = (user: Profile, scope: ScopeSet): unknown => JSON.parse(JSON.stringify(claimsFor(user, scope)));

test('each scope opens its claims and no others; sub is always there', () => {
  assert.deepEqual(sent(ADA, NO_SCOPE), { sub: 'user-id' });
  assert.deepEqual(sent(ADA, parseScope('profile')!), { sub: 'user-id', ...profileClaims });
  assert.deepEqual(sent(ADA, parseScope('email')!), {
    sub: 'user-id',
    email: 'ada@example.com',
    email_verified: true,
  });
  assert.deepEqual(sent(ADA, parseScope('profile email')!), {
    sub: 'user-id',
    ...profileClaims,
    email: 'ada@example.com',
    email_verified: true,
  });
});

test('what is not known is left out, and an unverified address is said to be that', () => {
  const unknown = {
    ...ADA,
    name: null,
    preferredUsername: null,
    picture: null,
    locale: null,
    emailVerified: false,
  };
  assert.deepEqual(sent(unknown, parseScope('profile email')!), {
    sub: 'user-id',
    updated_at: profileClaims.updated_at,
    email: 'ada@example.com',
    email_verified: false,
  });
});

test('claims are sent in the order in which the fields are listed', () => {
  assert.deepEqual(
    Object.keys(claimsFor(ADA, NO_SCOPE)),
    PROFILE_FIELDS.map(({ claim }) => claim),
  );
});
