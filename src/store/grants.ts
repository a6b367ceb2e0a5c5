import type { Profile } from '../protocol/claims.ts';
import { SCOPE_NAMES, scopeOf } from '../protocol/scope.ts';
import { batchableSelect, batchableUpdate } from './drivers/batchable-statement.ts';
import type { Columns, Driver, Row, Value } from './drivers/driver.ts';
import { grantStateOf } from './grant-state.ts';
import { RECORD_REVOCATION } from './security-events.ts';
import type {
  AccessRead,
  CodeRedemption,
  Connection,
  GrantRef,
  GrantStore,
  NewGrant,
  RedemptionOutcome,
  RefusedReason,
  RevokedReason,
  Rotation,
  RotationOutcome,
  SweepPosition,
  SweptGrants,
  SweptRange,
} from './store.ts';

const USER_ENABLED = 'EXISTS (SELECT 1 FROM users WHERE id = $1 AND disabled_at IS NULL)';

const CREATE = `
  INSERT INTO grants (user_id, id, client_id, scope, generation, expires_at, redirect_uri, code_challenge, created_at)
  SELECT $1, $2, $3, CAST($4 AS INTEGER), 0, CAST($5 AS BIGINT), $6, $7, CAST($8 AS BIGINT) WHERE ${USER_ENABLED}
  ON CONFLICT DO NOTHING
  RETURNING id`;

const CODE_IS_LIVE = `
  SELECT 1 AS live FROM grants
  WHERE user_id = $1 AND id = $2 AND generation = 0 AND expires_at > $3 AND revoked_at IS NULL`;

const REDEEM = batchableUpdate(['text', 'text', 'text', 'text', 'text', 'bigint', 'bigint'], {
  table: 'grants',
  set: 'generation = 1, expires_at = $6, last_used_at = $7',
  where: `user_id = $1 AND id = $2 AND generation = 0
    AND client_id = $3 AND redirect_uri = $4 AND code_challenge = $5
    AND expires_at > $7 AND revoked_at IS NULL AND ${USER_ENABLED}`,
  returning: 'scope',
});

/** Keeps what the code was bound to while that code could still be replayed, and drops it with the first rotation after. */
const ROTATE = batchableUpdate(['text', 'text', 'integer', 'text', 'integer', 'bigint', 'bigint', 'bigint'], {
  table: 'grants',
  set: `generation = generation + 1, expires_at = $6, last_used_at = $7,
    redirect_uri = CASE WHEN created_at > $8 THEN redirect_uri END,
    code_challenge = CASE WHEN created_at > $8 THEN code_challenge END`,
  where: `user_id = $1 AND id = $2 AND generation = $3
    AND client_id = $4 AND (scope & $5) = $5
    AND expires_at > $7 AND revoked_at IS NULL AND ${USER_ENABLED}`,
  returning: 'scope',
});

const CLASSIFY = `
  SELECT generation, client_id, scope, expires_at, last_used_at, redirect_uri, code_challenge, revoked_at,
    revoked_reason, ${USER_ENABLED} AS user_enabled
  FROM grants WHERE user_id = $1 AND id = $2`;

/** A replay that is right in everything but its time: then the code or what it bought is in other hands. */
const REVOKE_REPLAYED = `
  UPDATE grants SET revoked_at = $6, revoked_reason = 'code_replay'
  WHERE user_id = $1 AND id = $2 AND generation > 0 AND revoked_at IS NULL
    AND client_id = $3 AND redirect_uri = $4 AND code_challenge = $5
  RETURNING id`;

const REVOKE_REUSED = `
  UPDATE grants SET revoked_at = $4, revoked_reason = 'refresh_token_reuse'
  WHERE user_id = $1 AND id = $2 AND generation > $3 AND revoked_at IS NULL
  RETURNING id`;

/**
 * A token ahead of its grant was sealed here after the row's state was saved: the database was restored
 * from an older backup. Tokens that were consumed since would pass again, so the grant ends.
 */
const REVOKE_RESTORED = `
  UPDATE grants SET revoked_at = $4, revoked_reason = 'database_restored'
  WHERE user_id = $1 AND id = $2 AND generation < $3 AND revoked_at IS NULL
  RETURNING id`;

const REVOKE = batchableUpdate(['text', 'text', 'text', 'bigint', 'text'], {
  table: 'grants',
  set: 'revoked_at = $4, revoked_reason = $5',
  where: 'user_id = $1 AND id = $2 AND client_id = $3 AND revoked_at IS NULL',
  returning: 'id',
});

const DISCONNECT = `
  UPDATE grants SET revoked_at = $3, revoked_reason = 'disconnected_by_user'
  WHERE user_id = $1 AND client_id = $2 AND revoked_at IS NULL
  RETURNING id`;

/** Every scope that any of the grants has: a set is the sum of its bits. */
const ALL_SCOPES = SCOPE_NAMES.map((name) => `MAX(scope & ${scopeOf(name)})`).join(' + ');

/** An access token may outlive its refresh token when the settings say so. */
const CONNECTIONS = `
  SELECT client_id, ${ALL_SCOPES} AS scope, MIN(created_at) AS since, MAX(last_used_at) AS last_used_at
  FROM grants
  WHERE user_id = $1 AND generation > 0 AND revoked_at IS NULL AND (expires_at > $2 OR last_used_at > $3)
  GROUP BY client_id ORDER BY MAX(last_used_at) DESC, client_id`;

const REVOKE_ACCESS_TOKEN = `
  INSERT INTO revoked_access_tokens (user_id, grant_id, generation, expires_at)
  SELECT user_id, id, CAST($3 AS INTEGER), CAST($5 AS BIGINT) FROM grants
  WHERE user_id = $1 AND id = $2 AND client_id = $4 AND revoked_at IS NULL
  ON CONFLICT DO NOTHING`;

/** A token ahead of its grant comes from a life that a restored backup does not know: refused. */
const READ_ACCESS = batchableSelect(['text', 'text', 'integer'], {
  select:
    'g.client_id, u.id, u.email, u.email_verified_at, u.name, u.preferred_username, u.picture, u.locale, u.updated_at',
  from: 'grants g JOIN users u ON u.id = g.user_id',
  where: `g.user_id = $1 AND g.id = $2 AND g.generation >= $3 AND g.revoked_at IS NULL AND u.disabled_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM revoked_access_tokens r
      WHERE r.user_id = $1 AND r.grant_id = $2 AND r.generation = $3)`,
});

/** The user, from a row of READ_ACCESS. */
const profileIn = (row: Columns): Profile => ({
  id: row[1] as string,
  email: row[2] as string,
  emailVerified: row[3] !== null,
  name: row[4] as string | null,
  preferredUsername: row[5] as string | null,
  picture: row[6] as string | null,
  locale: row[7] as string | null,
  updatedAt: Number(row[8]),
});

const SWEEP_RANGE = `
  SELECT user_id, id, expires_at, revoked_at FROM grants WHERE (user_id, id) > ($1, $2) ORDER BY user_id, id LIMIT $3`;

const SWEEP = `
  DELETE FROM grants WHERE (user_id, id) > ($1, $2) AND (user_id, id) <= ($3, $4) AND expires_at <= $5
  RETURNING id`;

/** Expired grants too: an access token may outlive its refresh token when the settings say so. */
const REVOKE_RANGE = `
  UPDATE grants SET revoked_at = $5, revoked_reason = $6
  WHERE (user_id, id) > ($1, $2) AND (user_id, id) <= ($3, $4) AND revoked_at IS NULL
  RETURNING id`;

const SWEEP_REVOKED = `
  DELETE FROM revoked_access_tokens WHERE (user_id, grant_id, generation) IN (
    SELECT user_id, grant_id, generation FROM revoked_access_tokens WHERE expires_at <= $1 LIMIT $2)
  RETURNING generation`;

export class SqlGrants implements GrantStore {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async create(grant: NewGrant): Promise<boolean> {
    const { userId, grantId, clientId, scope, redirectUri, codeChallenge, now, expiresAt } = grant;
    const values = [userId, grantId, clientId, scope, expiresAt, redirectUri, codeChallenge, now];
    if ((await this.#driver.write(CREATE, values)).length > 0) return true;
    return this.codeIsLive(userId, grantId, now);
  }

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
    const row = await this.#classify(ref);
    if (!row) return { outcome: 'refused', reason: 'unknown' };
    const grant = grantStateOf(row);
    if (grant.generation === 0) {
      if (row.client_id !== clientId) return { outcome: 'refused', reason: 'wrong_client' };
      if (row.redirect_uri !== redirectUri)
        return { outcome: 'refused', reason: 'wrong_redirect_uri', grant };
      if (row.code_challenge !== codeChallenge)
        return { outcome: 'refused', reason: 'wrong_verifier', grant };
      return { outcome: 'refused', reason: staleness(row, now), grant };
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
    const row = await this.#classify(ref);
    if (!row) return { outcome: 'refused', reason: 'unknown' };
    const grant = grantStateOf(row);
    const { generation } = grant;
    if (generation > ref.generation) {
      const values = [ref.userId, ref.grantId, ref.generation, now];
      return {
        outcome: 'reused',
        revoked: await this.#revokeAndRecord(REVOKE_REUSED, values, ref, now),
        grant,
      };
    }
    if (generation < ref.generation) {
      await this.#driver.write(REVOKE_RESTORED, [ref.userId, ref.grantId, ref.generation, now]);
      return { outcome: 'refused', reason: 'ahead' };
    }
    if (row.client_id !== clientId) return { outcome: 'refused', reason: 'wrong_client' };
    const reason = staleness(row, now);
    if (reason === 'unknown' && scope !== undefined && (Number(row.scope) & scope) !== scope) {
      return { outcome: 'scope_exceeded', grant };
    }
    return { outcome: 'refused', reason, grant };
  }

  async revoke(ref: GrantRef, clientId: string, now: number): Promise<boolean> {
    const by: RevokedReason = 'revoked_by_client';
    const row = await this.#driver.runBatched(REVOKE, [ref.userId, ref.grantId, clientId, now, by]);
    return row !== undefined;
  }

  async revokeAccessToken(ref: GrantRef, clientId: string, expiresAt: number): Promise<void> {
    const values = [ref.userId, ref.grantId, ref.generation, clientId, expiresAt];
    await this.#driver.write(REVOKE_ACCESS_TOKEN, values);
  }

  async connections(userId: string, now: number, accessLiveSince: number): Promise<Connection[]> {
    const rows = await this.#driver.read(CONNECTIONS, [userId, now, accessLiveSince]);
    return rows.map((row) => ({
      clientId: row.client_id as string,
      scope: Number(row.scope),
      since: Number(row.since),
      lastUsedAt: Number(row.last_used_at),
    }));
  }

  async disconnect(userId: string, clientId: string, now: number): Promise<number> {
    return (await this.#driver.write(DISCONNECT, [userId, clientId, now])).length;
  }

  async readAccess({ userId, grantId, generation }: GrantRef): Promise<AccessRead> {
    const row = await this.#driver.runBatched(READ_ACCESS, [userId, grantId, generation]);
    if (!row) return { outcome: 'refused' };
    return { outcome: 'live', clientId: row[0] as string, user: profileIn(row) };
  }

  /** Walks the primary key, because an index on expires_at would make every rotation write it too. */
  async sweep(from: SweepPosition, limit: number, expiredBefore: number, now: number): Promise<SweptGrants> {
    const range = await this.#driver.read(SWEEP_RANGE, [from.userId, from.grantId, limit]);
    const last = range.at(-1);
    if (!last) return { removed: 0, live: 0, next: undefined };
    const next = { userId: last.user_id as string, grantId: last.id as string };
    const live = range.filter((row) => row.revoked_at === null && Number(row.expires_at) > now).length;
    const step = { live, next: range.length < limit ? undefined : next };
    if (!range.some((row) => Number(row.expires_at) <= expiredBefore)) return { ...step, removed: 0 };
    const values = [from.userId, from.grantId, next.userId, next.grantId, expiredBefore];
    return { ...step, removed: (await this.#driver.write(SWEEP, values)).length };
  }

  async revokeAll(from: SweepPosition, limit: number, by: RevokedReason, now: number): Promise<SweptRange> {
    const range = await this.#driver.read(SWEEP_RANGE, [from.userId, from.grantId, limit]);
    const last = range.at(-1);
    if (!last) return { removed: 0, next: undefined };
    const next = { userId: last.user_id as string, grantId: last.id as string };
    const values = [from.userId, from.grantId, next.userId, next.grantId, now, by];
    const revoked = await this.#driver.write(REVOKE_RANGE, values);
    return { removed: revoked.length, next: range.length < limit ? undefined : next };
  }

  async lastUse(): Promise<number> {
    const sql = 'SELECT MAX(COALESCE(last_used_at, created_at)) AS last FROM grants';
    return Number((await this.#driver.read(sql))[0]?.last ?? 0);
  }

  async sweepRevokedAccessTokens(limit: number, now: number): Promise<number> {
    return (await this.#driver.write(SWEEP_REVOKED, [now, limit])).length;
  }

  /** The cut, and the event that tells the user of it. */
  async #revokeAndRecord(
    sql: string,
    values: readonly Value[],
    { userId, grantId }: GrantRef,
    now: number,
  ): Promise<boolean> {
    const event = { sql: RECORD_REVOCATION, values: [userId, grantId, now] };
    const [cut] = await this.#driver.transaction([{ sql, values }, event]);
    return cut!.length > 0;
  }

  async #classify({ userId, grantId }: GrantRef): Promise<Row | undefined> {
    return (await this.#driver.read(CLASSIFY, [userId, grantId]))[0];
  }
}

/** Why a row whose every binding matches still refused. 'unknown' when nothing of this kind is the reason. */
function staleness(row: Row, now: number): RefusedReason {
  if (row.revoked_at !== null) return 'ended';
  if (Number(row.expires_at) <= now) return 'expired';
  if (!row.user_enabled) return 'user_disabled';
  return 'unknown';
}
