import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { newClientSecret } from '../../../src/protocol/client-secret.ts';
import { type GrantRef, newId } from '../../../src/protocol/credentials.ts';
import { parseScope } from '../../../src/protocol/scope.ts';
import type { NewApplication } from '../../../src/store/applications.ts';
import type { SqlGrants } from '../../../src/store/grants.ts';
import type { Store, StoreOptions } from '../../../src/store/store.ts';
import type { SqlUsers } from '../../../src/store/users.ts';

export type NewGrant = Parameters<SqlGrants['create']>[0];
export type CodeRedemption = Parameters<SqlGrants['redeemCode']>[0];
export type Rotation = Parameters<SqlGrants['rotate']>[0];
type NewUser = Parameters<SqlUsers['create']>[0];

/** An empty database, opened. */
export type Opened = {
  readonly store: Store;
  /** For POSTERN_DATABASE_URL. */
  readonly url: string;
  /** Another connection to the same database, like that of another process. */
  readonly another: (options?: Pick<StoreOptions, 'maxGrants'>) => Promise<Store>;
  readonly close: () => Promise<void>;
};

export const NOW = Date.UTC(2030, 0, 1);
const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const CODE_TTL = 5 * MINUTE;
export const REFRESH_TTL = 30 * DAY;
export const PROFILE = parseScope('profile')!;
export const EMAIL = parseScope('email')!;
export const BOTH = PROFILE | EMAIL;
export const URI = 'https://client.example/callback';
const CHALLENGE = 'c'.repeat(43);
export const CLIENT = 'app_contract';

/** A migrated database for one group of tests; each test creates its own users and grants. */
export function database(open: () => Promise<Opened>): { readonly store: Store; readonly opened: Opened } {
  let opened: Opened;
  before(async () => {
    opened = await open();
    await opened.store.migrate();
  });
  after(() => opened.close());
  return {
    get store() {
      return opened.store;
    },
    get opened() {
      return opened;
    },
  };
}

export const newUser = (changes: Partial<NewUser> = {}): NewUser => {
  const id = newId();
  const defaults = {
    id,
    email: `${id}@example.com`,
    emailVerified: false,
    name: 'Ada',
    passwordHash: 'hash',
  };
  return { ...defaults, now: NOW, ...changes };
};

export async function createUser(store: Store, changes: Partial<NewUser> = {}): Promise<string> {
  const user = newUser(changes);
  assert.equal(await store.users.create(user), 'created');
  return user.id;
}

export const newGrant = (userId: string, changes: Partial<NewGrant> = {}): NewGrant => ({
  userId,
  grantId: newId(),
  clientId: CLIENT,
  scope: BOTH,
  redirectUri: URI,
  codeChallenge: CHALLENGE,
  now: NOW,
  expiresAt: NOW + CODE_TTL,
  ...changes,
});

/** A grant whose code was just issued. */
export async function issueCode(store: Store, changes: Partial<NewGrant> = {}): Promise<GrantRef> {
  const grant = newGrant(changes.userId ?? (await createUser(store)), changes);
  assert.equal(await store.grants.create(grant), 'created');
  return { userId: grant.userId, grantId: grant.grantId, generation: 0 };
}

export async function redeem(store: Store, ref: GrantRef, changes: Partial<CodeRedemption> = {}) {
  const now = changes.now ?? NOW;
  const outcome = await store.grants.redeemCode({
    ref,
    clientId: CLIENT,
    redirectUri: URI,
    codeChallenge: CHALLENGE,
    now,
    expiresAt: now + REFRESH_TTL,
    ...changes,
  });
  return withoutGrant(outcome);
}

export async function rotate(store: Store, ref: GrantRef, changes: Partial<Rotation> = {}) {
  const now = changes.now ?? NOW;
  const outcome = await store.grants.rotate({
    ref,
    clientId: CLIENT,
    scope: undefined,
    now,
    expiresAt: now + REFRESH_TTL,
    codesExpiredBefore: now - CODE_TTL,
    ...changes,
  });
  return withoutGrant(outcome);
}

type Bare<T> = T extends unknown ? Omit<T, 'grant'> : never;

/** Drops the state of the grant, which is for the request log and tested there. */
function withoutGrant<T extends object>(outcome: T): Bare<T> {
  const { grant: _, ...bare } = outcome as T & { grant?: unknown };
  return bare as unknown as Bare<T>;
}

export const at = (ref: GrantRef, generation: number): GrantRef => ({ ...ref, generation });

/** A grant rotated up to its n-th refresh token, to which the result refers. */
export async function issueTokens(
  store: Store,
  generation = 1,
  changes: Partial<NewGrant> = {},
): Promise<GrantRef> {
  const code = await issueCode(store, changes);
  assert.equal(
    (await redeem(store, code, changes.clientId ? { clientId: changes.clientId } : {})).outcome,
    'redeemed',
  );
  for (let n = 1; n < generation; n++) assert.equal((await rotate(store, at(code, n))).outcome, 'rotated');
  return at(code, generation);
}

export const isLive = async (store: Store, ref: GrantRef): Promise<boolean> =>
  (await store.grants.readAccess(ref)).outcome === 'live';

export const newApplication = (changes: Partial<NewApplication> = {}): NewApplication => ({
  clientId: `app_${newId()}`,
  ownerId: 'owner',
  name: 'Photo “Wall” – ☃',
  redirectUris: [URI, 'http://localhost:4000/?a=b&c=%20'],
  scope: BOTH,
  optionalScope: EMAIL,
  secret: newClientSecret(),
  now: NOW,
  ...changes,
});

export const newSession = (userId: string, idHash: string, expiresAt: number) => ({
  idHash,
  userId,
  now: NOW,
  expiresAt,
  address: '127.0.0.1',
  userAgent: 'test',
});
