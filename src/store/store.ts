import type { Profile } from '../protocol/claims.ts';
import type { RateWindow } from '../protocol/rate-window.ts';
import type { ScopeSet } from '../protocol/scope.ts';
import type { MailLinkStore, SecurityEventStore, SignUpStore } from './account-records.ts';
import type { GrantState } from './grant-state.ts';
import type { LeaseStore } from './leases.ts';
import type { RequestLogStore, UsageStore } from './request-records.ts';

/**
 * The store as the rest of Postern sees it: whole transitions, each one conditional
 * statement on one row, and outcomes as values. A throw means that the database failed.
 */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  readonly grants: GrantStore;
  readonly applications: ApplicationStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly signUps: SignUpStore;
  readonly mailLinks: MailLinkStore;
  readonly securityEvents: SecurityEventStore;
  readonly counters: CounterStore;
  readonly requestLog: RequestLogStore;
  readonly usage: UsageStore;
  readonly keys: KeyStore;
  readonly leases: LeaseStore;
  readonly resourceServers: ResourceServerStore;
  /** Applies what is missing of the schema and returns the names of what was applied. */
  migrate(): Promise<string[]>;
  /** Resolves when the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

// ---- grants ---------------------------------------------------------------------------------

/** A link of a grant's chain, as a sealed credential names it. */
export type GrantRef = { readonly userId: string; readonly grantId: string; readonly generation: number };

export type NewGrant = {
  readonly userId: string;
  readonly grantId: string;
  readonly clientId: string;
  readonly scope: ScopeSet;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly now: number;
  readonly expiresAt: number;
};

export type CodeRedemption = {
  readonly ref: GrantRef;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Undefined when no usable verifier came with the request: then nothing matches. */
  readonly codeChallenge: string | undefined;
  readonly now: number;
  readonly expiresAt: number;
};

export type Rotation = {
  readonly ref: GrantRef;
  readonly clientId: string;
  /** What the new access token is to have; undefined for all of the grant's scope. */
  readonly scope: ScopeSet | undefined;
  readonly now: number;
  readonly expiresAt: number;
  /** A code issued before this can no longer be replayed, so what it was bound to may go. */
  readonly codesExpiredBefore: number;
};

/** Why a link was refused: for the log, never for the client. */
export type RefusedReason =
  | 'unknown'
  | 'expired'
  | 'ended'
  | 'wrong_client'
  | 'wrong_redirect_uri'
  | 'wrong_verifier'
  | 'user_disabled'
  /** Sealed by us, but ahead of the row: only a database restored from a backup can look like this. The grant is cut. */
  | 'ahead';

export type RevokedReason =
  | 'refresh_token_reuse'
  | 'code_replay'
  | 'revoked_by_client'
  | 'disconnected_by_user'
  | 'account_deleted'
  /** The row was older than a token that it had issued: see docs/operations.md on restoring a backup. */
  | 'database_restored';

export type RedemptionOutcome =
  | { readonly outcome: 'redeemed'; readonly scope: ScopeSet }
  /** The code was used before; `cut` when this replay ended the grant. */
  | { readonly outcome: 'replayed'; readonly revoked: boolean; readonly grant: GrantState }
  | { readonly outcome: 'refused'; readonly reason: RefusedReason; readonly grant?: GrantState };

export type RotationOutcome =
  | { readonly outcome: 'rotated'; readonly scope: ScopeSet }
  /** The token was consumed earlier; `cut` when this presentation ended the grant. */
  | { readonly outcome: 'reused'; readonly revoked: boolean; readonly grant: GrantState }
  | { readonly outcome: 'scope_exceeded'; readonly grant: GrantState }
  | { readonly outcome: 'refused'; readonly reason: RefusedReason; readonly grant?: GrantState };

export type AccessRead =
  | { readonly outcome: 'live'; readonly clientId: string; readonly user: Profile }
  | { readonly outcome: 'refused' };

export interface GrantStore {
  /** False when the user is gone or disabled. The same grant twice is one grant. */
  create(grant: NewGrant): Promise<boolean>;
  /** True while the grant's code was issued and not yet redeemed, expired or cut. */
  codeIsLive(userId: string, grantId: string, now: number): Promise<boolean>;
  redeemCode(redemption: CodeRedemption): Promise<RedemptionOutcome>;
  rotate(rotation: Rotation): Promise<RotationOutcome>;
  /** Ends the grant when it is this client's; true when that ended it. The client is answered alike. */
  revoke(ref: GrantRef, clientId: string, now: number): Promise<boolean>;
  revokeAccessToken(ref: GrantRef, clientId: string, expiresAt: number): Promise<void>;
  /** The applications that can act for the user now, each once however many grants it has. */
  connections(userId: string, now: number, accessLiveSince: number): Promise<Connection[]>;
  /** Ends every grant that the user gave the application; how many. */
  disconnect(userId: string, clientId: string, now: number): Promise<number>;
  /** The user behind an access token that has not expired, read live. */
  readAccess(ref: GrantRef): Promise<AccessRead>;
  /** Removes what expired before `expiredBefore` among the next few grants after `from`. */
  sweep(from: SweepPosition, limit: number, expiredBefore: number, now: number): Promise<SweptGrants>;
  sweepRevokedAccessTokens(limit: number, now: number): Promise<number>;
  /** Revokes every grant among the next few after `from`; `removed` is their number. */
  revokeAll(from: SweepPosition, limit: number, by: RevokedReason, now: number): Promise<SweptRange>;
  /** When any grant was last used, or 0. Reads them all. */
  lastUse(): Promise<number>;
}

/** All live grants of one application for one user, seen as one. */
export type Connection = {
  readonly clientId: string;
  readonly scope: ScopeSet;
  readonly since: number;
  readonly lastUsedAt: number;
};

export type SweepPosition = { readonly userId: string; readonly grantId: string };
/** `next` is undefined at the end of the table. */
export type SweptRange = { readonly removed: number; readonly next: SweepPosition | undefined };
/** `live` is how many of the grants looked at were neither expired nor cut. */
export type SweptGrants = SweptRange & { readonly live: number };

// ---- applications ---------------------------------------------------------------------------

export type Application = {
  readonly clientId: string;
  readonly ownerId: string;
  readonly name: string;
  readonly homepageUrl: string | null;
  readonly redirectUris: readonly string[];
  /** Every scope it may ask for; those in `optionalScope` the user may leave out. */
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly disabledAt: number | null;
  /** What the operator disabled its owner cannot enable. */
  readonly disabledBy: 'owner' | 'operator' | null;
  readonly secrets: readonly ApplicationSecret[];
};

export type ApplicationSecret = {
  readonly id: string;
  readonly hash: string;
  /** Its last four characters, to tell one from another. */
  readonly tail: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
};

export type NewApplication = Pick<
  Application,
  'clientId' | 'ownerId' | 'name' | 'redirectUris' | 'scope' | 'optionalScope'
> & { readonly homepageUrl?: string | null; readonly secret: string; readonly now: number };

export type ApplicationChanges = Pick<
  Application,
  'name' | 'homepageUrl' | 'redirectUris' | 'scope' | 'optionalScope'
>;

export type NewSecret = { readonly id: string; readonly secret: string; readonly now: number };

export type CreationOutcome =
  | { readonly outcome: 'created' }
  /** The form was sent before and made this application; it may have been deleted since. */
  | { readonly outcome: 'repeated'; readonly clientId: string };

/** `repeated`: a secret with this id is there already. */
export type SecretAddition = 'added' | 'repeated' | 'too_many' | 'unknown';
/** `last`: it is the only secret that does not end by itself, and stays. */
export type SecretRemoval = 'removed' | 'last' | 'unknown';

/** One user's applications, read live. Whatever is not this user's is not there. */
export interface OwnedApplications {
  list(): Promise<Application[]>;
  find(clientId: string): Promise<Application | undefined>;
  create(application: Omit<NewApplication, 'ownerId'>, formId: string): Promise<CreationOutcome>;
  /** The client_id of what this form made. */
  createdBy(formId: string): Promise<string | undefined>;
  edit(clientId: string, changes: ApplicationChanges, now: number): Promise<boolean>;
  disable(clientId: string, now: number): Promise<boolean>;
  enable(clientId: string, now: number): Promise<boolean>;
  /** Only while it has the name that was confirmed. */
  delete(clientId: string, name: string): Promise<boolean>;
  addSecret(clientId: string, secret: NewSecret): Promise<SecretAddition>;
  removeSecret(clientId: string, secretId: string, now: number): Promise<SecretRemoval>;
}

export interface ApplicationStore {
  create(application: NewApplication): Promise<void>;
  /** Cached; a change made by any process is seen within a second. */
  find(clientId: string): Promise<Application | undefined> | Application;
  list(): Promise<Application[]>;
  /** By the operator. */
  setDisabled(clientId: string, disabled: boolean, now: number): Promise<boolean>;
  /** Adds a secret; the earlier ones end at `othersExpireAt`. False when there is no such application. */
  rotateSecret(clientId: string, secret: string, othersExpireAt: number, now: number): Promise<boolean>;
  delete(clientId: string): Promise<boolean>;
  ownedBy(ownerId: string): OwnedApplications;
  /** Told at every authenticated request, so it only takes note; what it noted is written later. */
  recordSecretUse(clientId: string, secretId: string, now: number): void;
}

// ---- resource servers: the platform's own APIs -------------------------------------------------

export type ResourceServer = {
  readonly id: string;
  readonly name: string;
  readonly secretHash: string;
  /** The last four characters of its secret, to tell one from another. */
  readonly secretTail: string;
  readonly createdAt: number;
};

export type NewResourceServer = Pick<ResourceServer, 'id' | 'name'> & {
  readonly secret: string;
  readonly now: number;
};

export interface ResourceServerStore {
  create(resourceServer: NewResourceServer): Promise<void>;
  /** Cached; a change made by any process is seen within a second. */
  find(id: string): Promise<ResourceServer | undefined>;
  list(): Promise<ResourceServer[]>;
  delete(id: string): Promise<boolean>;
}

// ---- users and their browser sessions -------------------------------------------------------

export type User = Profile & {
  readonly passwordHash: string;
  readonly createdAt: number;
  readonly disabledAt: number | null;
};

export type NewUser = {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string | null;
  readonly passwordHash: string;
  readonly now: number;
};

export type DeletedUser = { readonly grantsRevoked: number };

export interface UserStore {
  create(user: NewUser): Promise<'created' | 'email_taken'>;
  find(id: string): Promise<User | undefined>;
  findByEmail(email: string): Promise<User | undefined>;
  list(): Promise<User[]>;
  setDisabled(id: string, disabled: boolean, now: number): Promise<boolean>;
  /** A new password ends every browser session of the user but the one named. */
  setPassword(id: string, passwordHash: string, now: number, keepSession?: string): Promise<boolean>;
  /** With an address: only while it is still the user's. */
  verifyEmail(id: string, now: number, email?: string): Promise<boolean>;
  changeProfile(id: string, profile: ProfileChanges, now: number): Promise<boolean>;
  /** To an address that was just proven. `stale`: `from` is no longer the user's. */
  changeEmail(id: string, from: string, to: string, now: number): Promise<'changed' | 'taken' | 'stale'>;
  /** Cuts every grant, and removes the user and all that was kept of them. */
  delete(user: Pick<User, 'id' | 'email'>, now: number): Promise<DeletedUser | undefined>;
}

export type ProfileChanges = Pick<Profile, 'name' | 'preferredUsername' | 'picture' | 'locale'>;

export type NewSession = {
  readonly idHash: string;
  readonly userId: string;
  readonly now: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly userAgent: string;
};

export interface SessionStore {
  create(session: NewSession): Promise<void>;
  /** The user of a live session, unless disabled. */
  findUser(idHash: string, now: number): Promise<User | undefined>;
  end(idHash: string): Promise<void>;
  /** The user's live sessions, the newest first. */
  list(userId: string, now: number): Promise<Session[]>;
  /** False when it is not this user's. */
  endOf(userId: string, idHash: string): Promise<boolean>;
  endOthers(userId: string, keep: string): Promise<number>;
  sweep(limit: number, now: number): Promise<number>;
}

export type Session = Pick<NewSession, 'idHash' | 'address' | 'userAgent'> & { readonly createdAt: number };

// ---- counters -------------------------------------------------------------------------------

export interface CounterStore {
  /** Counts one more under this key, over all nodes. A window that opens now begins at `opensAt`. */
  hit(key: string, windowMs: number, now: number, opensAt: number): Promise<RateWindow> | RateWindow;
  /** Counts one less: what was counted in advance turned out not to count. */
  refund(key: string, windowMs: number): Promise<void> | void;
  /** Removes windows that have ended. */
  sweep(limit: number, now: number): Promise<number> | number;
}

// ---- sealing keys ---------------------------------------------------------------------------

/** What a sealing key is derived with, besides the secret: no secret itself. */
export type SigningKeyRecord = { readonly number: number; readonly salt: string; readonly createdAt: number };

export interface KeyStore {
  /** In the order of their numbers. Key 1 has no record: it is there from the start. */
  list(): Promise<SigningKeyRecord[]>;
  /** False when the number is taken: somebody else added a key at the same time. */
  add(key: SigningKeyRecord): Promise<boolean>;
  /** Of the secret this database belongs to. */
  fingerprint(): Promise<string | undefined>;
  /** Keeps `fingerprint` unless one is kept already, and returns the one that is kept. */
  keepFingerprint(fingerprint: string): Promise<string>;
  replaceFingerprint(fingerprint: string): Promise<void>;
}
