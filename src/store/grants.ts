import type { GrantRef } from '../protocol/credentials.ts';
import type { RevokedReason } from '../protocol/failure-reason.ts';
import { PROFILE_COLUMNS, type Profile, profileFrom } from '../protocol/profile.ts';
import { includes, type ScopeSet } from '../protocol/scope.ts';
import type { Driver, Value } from './drivers/driver.ts';
import {
  CODE_IS_LIVE,
  CONNECTIONS,
  CREATE,
  DISCONNECT,
  HAS_TOO_MANY,
  READ_ACCESS,
  RECORD_REVOCATION,
  REDEEM,
  REVOKE,
  REVOKE_ORPHANED,
  REVOKE_RANGE,
  REVOKE_REPLAYED,
  REVOKE_RESTORED,
  REVOKE_REUSED,
  ROTATE,
  SUPERSEDE,
  SWEEP,
  SWEEP_RANGE,
  USER_ENABLED,
} from './grant-statements.ts';
import { nullableNumber, nullableText, number, type ObjectOf, RowType, text } from './row-type.ts';

type NewGrant = {
  readonly userId: string;
  readonly grantId: string;
  readonly clientId: string;
  readonly scope: ScopeSet;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly now: number;
  readonly expiresAt: number;
};

type CodeRedemption = {
  readonly ref: GrantRef;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Undefined when the request had no usable verifier: then no grant matches. */
  readonly codeChallenge: string | undefined;
  readonly now: number;
  /** Expiry of the first refresh token. */
  readonly expiresAt: number;
};

type Rotation = {
  readonly ref: GrantRef;
  readonly clientId: string;
  /** The scope of the new access token; undefined for the grant's whole scope. */
  readonly scope: ScopeSet | undefined;
  readonly now: number;
  /** Expiry of the next refresh token. */
  readonly expiresAt: number;
  /** A code issued before this time can no longer be replayed: the values it was bound to may be dropped. */
  readonly codesExpiredBefore: number;
};

/** For the log, never for the client. */
export type RefusedReason =
  | 'grant_unknown'
  | 'expired'
  | 'grant_revoked'
  | 'wrong_client'
  | 'wrong_redirect_uri'
  | 'wrong_verifier'
  | 'user_disabled'
  /** A verified token newer than its row: the database was restored from a backup. The grant is revoked. */
  | 'grant_behind_token';

/** Live grants of one user to one application: far more than any user makes, few enough for one statement. */
const MAX_GRANTS = 10_000;

/** `refused`: the user is gone or disabled, or this grant's code was used. `too_many`: of them within an hour. */
type CreationOutcome = 'created' | 'refused' | 'too_many';

type RedemptionOutcome =
  | { readonly outcome: 'redeemed'; readonly scope: ScopeSet }
  /** The code was redeemed before; `revoked` when this replay revoked the grant. */
  | { readonly outcome: 'replayed'; readonly revoked: boolean; readonly grant: GrantState }
  | { readonly outcome: 'refused'; readonly reason: RefusedReason; readonly grant?: GrantState };

type RotationOutcome =
  | { readonly outcome: 'rotated'; readonly scope: ScopeSet }
  /** The token was rotated before; `revoked` when this reuse revoked the grant. */
  | { readonly outcome: 'reused'; readonly revoked: boolean; readonly grant: GrantState }
  | { readonly outcome: 'scope_exceeded'; readonly grant: GrantState }
  | { readonly outcome: 'refused'; readonly reason: RefusedReason; readonly grant?: GrantState };

export type AccessRead =
  | { readonly outcome: 'live'; readonly clientId: string; readonly user: Profile }
  | { readonly outcome: 'refused' };

export type SweepPosition = { readonly userId: string; readonly grantId: string };
/**
 * `next` is undefined at the end of the table. `live` grants were neither expired nor revoked. `orphaned` ones were
 * revoked because their application was deleted.
 */
type SweptRange = {
  readonly removed: number;
  readonly orphaned: number;
  readonly live: number;
  readonly next: SweepPosition | undefined;
};
export type RevokedRange = { readonly revoked: number; readonly next: SweepPosition | undefined };

const GRANT_STATE = new RowType({
  clientId: text('client_id'),
  generation: number('generation'),
  scope: number('scope'),
  /** Expiry of the current credential. */
  expiresAt: number('expires_at'),
  lastUsedAt: nullableNumber('last_used_at'),
  /** The code is bound to these two; null once it can no longer be replayed. */
  redirectUri: nullableText('redirect_uri'),
  codeChallenge: nullableText('code_challenge'),
  revokedAt: nullableNumber('revoked_at'),
  revokedReason: nullableText<RevokedReason>('revoked_reason'),
});

/** A grant as a failed attempt found it, for the application's request log. */
export type GrantState = ObjectOf<typeof GRANT_STATE>;

type FoundGrant = { readonly grant: GrantState; readonly userEnabled: boolean };

const FIND = `
  SELECT ${GRANT_STATE.columns}, ${USER_ENABLED} AS user_enabled FROM grants WHERE user_id = $1 AND id = $2`;

const CONNECTION = new RowType({
  clientId: text('client_id'),
  scope: number('scope'),
  since: number('since'),
  lastUsedAt: number('last_used_at'),
});

/** All live grants of one user to one application, as one. */
export type Connection = ObjectOf<typeof CONNECTION>;

export class SqlGrants {
  readonly #driver: Driver;

  readonly #maxGrants: number;

  constructor(driver: Driver, maxGrants = MAX_GRANTS) {
    this.#driver = driver;
    this.#maxGrants = maxGrants;
  }

  /** Creating a grant twice creates it once. The user's oldest grants to the application end when there are too many. */
  async create(grant: NewGrant): Promise<CreationOutcome> {
    const { userId, grantId, clientId, scope, redirectUri, codeChallenge, now, expiresAt } = grant;
    const maxRows = 2 * this.#maxGrants;
    const values = [userId, grantId, clientId, scope, expiresAt, redirectUri, codeChallenge, now, maxRows];
    const [created] = await this.#driver.transaction([
      { sql: CREATE, values },
      { sql: SUPERSEDE, values: [userId, clientId, now, this.#maxGrants] },
    ]);
    if (created!.length > 0 || (await this.codeIsLive(userId, grantId, now))) return 'created';
    const [rows] = await this.#driver.read(HAS_TOO_MANY, [userId, clientId, maxRows]);
    return rows?.too_many === 1 ? 'too_many' : 'refused';
  }

  /** True while the code was issued and not yet redeemed, expired or revoked. */
  async codeIsLive(userId: string, grantId: string, now: number): Promise<boolean> {
    return (await this.#driver.read(CODE_IS_LIVE, [userId, grantId, now])).length > 0;
  }

  async redeemCode(redemption: CodeRedemption): Promise<RedemptionOutcome> {
    const { ref, clientId, redirectUri, codeChallenge, now, expiresAt } = redemption;
    if (codeChallenge !== undefined) {
      const values = [ref.userId, ref.grantId, clientId, redirectUri, codeChallenge, expiresAt, now];
      const row = await this.#driver.runBatched(REDEEM, values);
      if (row) return { outcome: 'redeemed', scope: Number(row[0]) };
    }
    return this.#explainRedemption(redemption);
  }

  async #explainRedemption(redemption: CodeRedemption): Promise<RedemptionOutcome> {
    const { ref, clientId, redirectUri, codeChallenge, now } = redemption;
    const found = await this.#find(ref);
    if (!found) return { outcome: 'refused', reason: 'grant_unknown' };
    const { grant } = found;
    if (grant.generation === 0) {
      if (grant.clientId !== clientId) return { outcome: 'refused', reason: 'wrong_client' };
      if (grant.redirectUri !== redirectUri)
        return { outcome: 'refused', reason: 'wrong_redirect_uri', grant };
      if (grant.codeChallenge !== codeChallenge)
        return { outcome: 'refused', reason: 'wrong_verifier', grant };
      return { outcome: 'refused', reason: stateRefusal(found, now) ?? CHANGED_MEANWHILE, grant };
    }
    if (codeChallenge === undefined) return { outcome: 'replayed', revoked: false, grant };
    const values = [ref.userId, ref.grantId, clientId, redirectUri, codeChallenge, now];
    return {
      outcome: 'replayed',
      revoked: await this.#revokeAndRecord(REVOKE_REPLAYED, values, ref, now),
      grant,
    };
  }

  async rotate(rotation: Rotation): Promise<RotationOutcome> {
    const { ref, clientId, scope, now, expiresAt, codesExpiredBefore } = rotation;
    const { userId, grantId, generation } = ref;
    const values = [userId, grantId, generation, clientId, scope ?? 0, expiresAt, now, codesExpiredBefore];
    const row = await this.#driver.runBatched(ROTATE, values);
    if (row) return { outcome: 'rotated', scope: scope ?? Number(row[0]) };
    return this.#explainRotation(rotation);
  }

  async #explainRotation({ ref, clientId, scope, now }: Rotation): Promise<RotationOutcome> {
    const found = await this.#find(ref);
    if (!found) return { outcome: 'refused', reason: 'grant_unknown' };
    const { grant } = found;
    // Before the check of the client: a consumed token revokes the grant whoever presents it (protocol 3).
    if (grant.generation > ref.generation) {
      const values = [ref.userId, ref.grantId, ref.generation, now];
      return {
        outcome: 'reused',
        revoked: await this.#revokeAndRecord(REVOKE_REUSED, values, ref, now),
        grant,
      };
    }
    if (grant.generation < ref.generation) {
      await this.#driver.write(REVOKE_RESTORED, [ref.userId, ref.grantId, ref.generation, now]);
      return { outcome: 'refused', reason: 'grant_behind_token' };
    }
    // Without the grant: its state is not disclosed to another application.
    if (grant.clientId !== clientId) return { outcome: 'refused', reason: 'wrong_client' };
    const reason = stateRefusal(found, now);
    if (reason === undefined && scope !== undefined && !includes(grant.scope, scope))
      return { outcome: 'scope_exceeded', grant };
    return { outcome: 'refused', reason: reason ?? CHANGED_MEANWHILE, grant };
  }

  /** Revokes the grant when it is this client's; true when this call revoked it. The client sees no difference. */
  async revoke(ref: GrantRef, clientId: string, now: number): Promise<boolean> {
    const reason: RevokedReason = 'revoked_by_client';
    const row = await this.#driver.runBatched(REVOKE, [ref.userId, ref.grantId, clientId, now, reason]);
    return row !== undefined;
  }

  /** The applications that can act for the user now, each once however many grants it has. */
  async connections(userId: string, now: number, accessLiveSince: number): Promise<Connection[]> {
    const rows = await this.#driver.read(CONNECTIONS, [userId, now, accessLiveSince]);
    return rows.map((row) => CONNECTION.read(row));
  }

  /** Revokes every grant that the user gave the application; returns how many. */
  async disconnect(userId: string, clientId: string, now: number): Promise<number> {
    return (await this.#driver.write(DISCONNECT, [userId, clientId, now])).length;
  }

  /** The user behind an access token that has not expired, read live. */
  async readAccess({ userId, grantId, generation }: GrantRef): Promise<AccessRead> {
    const row = await this.#driver.runBatched(READ_ACCESS, [userId, grantId, generation]);
    if (!row) return { outcome: 'refused' };
    return { outcome: 'live', clientId: row[PROFILE_COLUMNS.length] as string, user: profileFrom(row) };
  }

  /**
   * Removes grants that expired before `expiredBefore` among the next `limit` after `from`, and revokes those of
   * deleted applications. Walks the primary key, because an index on expires_at would make every rotation write it too,
   * and grants are stored by user: ending those of one application at once would be unbounded.
   */
  async sweep(from: SweepPosition, limit: number, expiredBefore: number, now: number): Promise<SweptRange> {
    const range = await this.#driver.read(SWEEP_RANGE, [from.userId, from.grantId, limit]);
    const last = range.at(-1);
    if (!last) return { removed: 0, orphaned: 0, live: 0, next: undefined };
    const to = { userId: last.user_id as string, grantId: last.id as string };
    const bounds = [from.userId, from.grantId, to.userId, to.grantId];
    const expired = range.some((row) => Number(row.expires_at) <= expiredBefore);
    const unrevoked = range.filter((row) => row.revoked_at === null);
    const orphans = unrevoked.some((row) => row.application === null);
    return {
      removed: expired ? (await this.#driver.write(SWEEP, [...bounds, expiredBefore])).length : 0,
      orphaned: orphans ? (await this.#driver.write(REVOKE_ORPHANED, [...bounds, now])).length : 0,
      live: unrevoked.filter((row) => row.application !== null && Number(row.expires_at) > now).length,
      next: range.length < limit ? undefined : to,
    };
  }

  /** Revokes every grant among the next `limit` after `from`. */
  async revokeAll(
    from: SweepPosition,
    limit: number,
    reason: RevokedReason,
    now: number,
  ): Promise<RevokedRange> {
    const range = await this.#driver.read(SWEEP_RANGE, [from.userId, from.grantId, limit]);
    const last = range.at(-1);
    if (!last) return { revoked: 0, next: undefined };
    const next = { userId: last.user_id as string, grantId: last.id as string };
    const values = [from.userId, from.grantId, next.userId, next.grantId, now, reason];
    const revoked = await this.#driver.write(REVOKE_RANGE, values);
    return { revoked: revoked.length, next: range.length < limit ? undefined : next };
  }

  /** When any grant was last used, or 0. Reads the whole table. */
  async lastUse(): Promise<number> {
    const sql = 'SELECT MAX(COALESCE(last_used_at, created_at)) AS last FROM grants';
    return Number((await this.#driver.read(sql))[0]?.last ?? 0);
  }

  /** Revokes the grant and, in the same transaction, records the event that the user sees. */
  async #revokeAndRecord(
    sql: string,
    values: readonly Value[],
    { userId, grantId }: GrantRef,
    now: number,
  ): Promise<boolean> {
    const event = { sql: RECORD_REVOCATION, values: [userId, grantId, now] };
    const [revoked] = await this.#driver.transaction([{ sql, values }, event]);
    return revoked!.length > 0;
  }

  async #find({ userId, grantId }: GrantRef): Promise<FoundGrant | undefined> {
    const [row] = await this.#driver.read(FIND, [userId, grantId]);
    return row && { grant: GRANT_STATE.read(row), userEnabled: row.user_enabled === 1 };
  }
}

/** The row met every condition when it was read again: something changed between the two statements. */
const CHANGED_MEANWHILE: RefusedReason = 'grant_unknown';

/** Why a grant that the credential fits is refused; undefined when its state is no reason. */
function stateRefusal({ grant, userEnabled }: FoundGrant, now: number): RefusedReason | undefined {
  if (grant.revokedAt !== null) return 'grant_revoked';
  if (grant.expiresAt <= now) return 'expired';
  if (!userEnabled) return 'user_disabled';
  return undefined;
}
