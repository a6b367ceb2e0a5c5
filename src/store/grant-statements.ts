import { PROFILE_COLUMNS } from '../protocol/profile.ts';
import { allScopes } from '../protocol/scope.ts';
import { batchableSelect, batchableUpdate } from './drivers/batchable-statement.ts';

export const USER_ENABLED = 'EXISTS (SELECT 1 FROM users WHERE id = $1 AND disabled_at IS NULL)';

/** `$9` bounds the rows, ended ones included, of one user and application. The sweeper removes them an hour after their end. */
const BELOW_MAX_ROWS =
  '(SELECT COUNT(*) FROM grants WHERE user_id = $1 AND client_id = $3) < CAST($9 AS BIGINT)';

export const CREATE = `
  INSERT INTO grants (user_id, id, client_id, scope, generation, expires_at, redirect_uri, code_challenge, created_at)
  SELECT $1, $2, $3, CAST($4 AS INTEGER), 0, CAST($5 AS BIGINT), $6, $7, CAST($8 AS BIGINT)
  WHERE ${USER_ENABLED} AND ${BELOW_MAX_ROWS}
  ON CONFLICT DO NOTHING
  RETURNING id`;

/**
 * Runs after a grant was created, in its transaction. Of a user's grants to one application, the `$4` that were live and
 * used last stay. The others are revoked, and expire now, so that the sweeper removes them soon.
 */
export const SUPERSEDE = `
  UPDATE grants SET revoked_at = COALESCE(revoked_at, $3), revoked_reason = COALESCE(revoked_reason, 'superseded'),
    expires_at = $3
  WHERE (SELECT COUNT(*) FROM grants WHERE user_id = $1 AND client_id = $2) > CAST($4 AS BIGINT)
    AND user_id = $1 AND client_id = $2 AND expires_at > $3 AND id NOT IN (
    SELECT id FROM grants WHERE user_id = $1 AND client_id = $2
    ORDER BY CASE WHEN revoked_at IS NULL AND expires_at > $3 THEN 0 ELSE 1 END,
      COALESCE(last_used_at, created_at) DESC, id
    LIMIT CAST($4 AS BIGINT))`;

export const HAS_TOO_MANY = `
  SELECT COUNT(*) >= CAST($3 AS BIGINT) AS too_many FROM grants WHERE user_id = $1 AND client_id = $2`;

export const CODE_IS_LIVE = `
  SELECT 1 AS live FROM grants
  WHERE user_id = $1 AND id = $2 AND generation = 0 AND expires_at > $3 AND revoked_at IS NULL`;

export const REDEEM = batchableUpdate(['text', 'text', 'text', 'text', 'text', 'bigint', 'bigint'], {
  table: 'grants',
  set: 'generation = 1, expires_at = $6, last_used_at = $7',
  where: `user_id = $1 AND id = $2 AND generation = 0
    AND client_id = $3 AND redirect_uri = $4 AND code_challenge = $5
    AND expires_at > $7 AND revoked_at IS NULL AND ${USER_ENABLED}`,
  returning: 'scope',
});

/** The first rotation after the code can no longer be replayed drops the values that the code was bound to. */
export const ROTATE = batchableUpdate(
  ['text', 'text', 'integer', 'text', 'integer', 'bigint', 'bigint', 'bigint'],
  {
    table: 'grants',
    set: `generation = generation + 1, expires_at = $6, last_used_at = $7,
    redirect_uri = CASE WHEN created_at > $8 THEN redirect_uri END,
    code_challenge = CASE WHEN created_at > $8 THEN code_challenge END`,
    where: `user_id = $1 AND id = $2 AND generation = $3
    AND client_id = $4 AND (scope & $5) = $5
    AND expires_at > $7 AND revoked_at IS NULL AND ${USER_ENABLED}`,
    returning: 'scope',
  },
);

/** A fully valid replay means a leak: revoke the grant (RFC 6749 4.1.2). */
export const REVOKE_REPLAYED = `
  UPDATE grants SET revoked_at = $6, revoked_reason = 'code_replay'
  WHERE user_id = $1 AND id = $2 AND generation > 0 AND revoked_at IS NULL
    AND client_id = $3 AND redirect_uri = $4 AND code_challenge = $5
  RETURNING id`;

export const REVOKE_REUSED = `
  UPDATE grants SET revoked_at = $4, revoked_reason = 'refresh_token_reuse'
  WHERE user_id = $1 AND id = $2 AND generation > $3 AND revoked_at IS NULL
  RETURNING id`;

/**
 * A token newer than its grant's row was signed after the row was saved: the database was restored from a backup.
 * Tokens consumed since then would be accepted again, so the grant is revoked (decision 014).
 */
export const REVOKE_RESTORED = `
  UPDATE grants SET revoked_at = $4, revoked_reason = 'database_restored'
  WHERE user_id = $1 AND id = $2 AND generation < $3 AND revoked_at IS NULL
  RETURNING id`;

/**
 * Runs after the revocation, in its transaction: the event exists exactly when the grant was revoked, names the
 * grant's own application whichever client caused it, and a second attempt adds none.
 */
export const RECORD_REVOCATION = `
  INSERT INTO security_events (user_id, id, happened_at, kind, client_id, address, user_agent)
  SELECT user_id, 'revoked ' || id, revoked_at, revoked_reason, client_id, '', ''
  FROM grants WHERE user_id = $1 AND id = $2 AND revoked_at = $3
  ON CONFLICT DO NOTHING`;

export const REVOKE = batchableUpdate(['text', 'text', 'text', 'bigint', 'text'], {
  table: 'grants',
  set: 'revoked_at = $4, revoked_reason = $5',
  where: 'user_id = $1 AND id = $2 AND client_id = $3 AND revoked_at IS NULL',
  returning: 'id',
});

export const DISCONNECT = `
  UPDATE grants SET revoked_at = $3, revoked_reason = 'disconnected_by_user'
  WHERE user_id = $1 AND client_id = $2 AND revoked_at IS NULL
  RETURNING id`;

/** The union of the grants' scopes: for each bit, its maximum. */
const ALL_SCOPES = allScopes()
  .map(({ bit }) => `MAX(scope & ${bit})`)
  .join(' + ');

/** An access token may outlive its refresh token when the settings say so. */
export const CONNECTIONS = `
  SELECT client_id, ${ALL_SCOPES} AS scope, MIN(created_at) AS since, MAX(last_used_at) AS last_used_at
  FROM grants
  WHERE user_id = $1 AND generation > 0 AND revoked_at IS NULL AND (expires_at > $2 OR last_used_at > $3)
  GROUP BY client_id ORDER BY MAX(last_used_at) DESC, client_id`;

/** Refuses a token newer than its grant's row: it was issued after the backup that was restored. */
export const READ_ACCESS = batchableSelect(['text', 'text', 'integer'], {
  select: [...PROFILE_COLUMNS.map((column) => `u.${column}`), 'g.client_id'].join(', '),
  from: 'grants g JOIN users u ON u.id = g.user_id',
  where: `g.user_id = $1 AND g.id = $2 AND g.generation >= $3 AND g.revoked_at IS NULL AND u.disabled_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM revoked_access_tokens r
      WHERE r.user_id = $1 AND r.grant_id = $2 AND r.generation = $3)`,
});

/** `application` is null once the grant's application was deleted. */
export const SWEEP_RANGE = `
  SELECT g.user_id, g.id, g.expires_at, g.revoked_at, a.client_id AS application
  FROM grants g LEFT JOIN applications a ON a.client_id = g.client_id
  WHERE (g.user_id, g.id) > ($1, $2) ORDER BY g.user_id, g.id LIMIT $3`;

export const SWEEP = `
  DELETE FROM grants WHERE (user_id, id) > ($1, $2) AND (user_id, id) <= ($3, $4) AND expires_at <= $5
  RETURNING id`;

export const REVOKE_ORPHANED = `
  UPDATE grants SET revoked_at = $5, revoked_reason = 'application_deleted'
  WHERE (user_id, id) > ($1, $2) AND (user_id, id) <= ($3, $4) AND revoked_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM applications a WHERE a.client_id = grants.client_id)
  RETURNING id`;

/** Expired grants too: an access token may outlive its refresh token when the settings say so. */
export const REVOKE_RANGE = `
  UPDATE grants SET revoked_at = $5, revoked_reason = $6
  WHERE (user_id, id) > ($1, $2) AND (user_id, id) <= ($3, $4) AND revoked_at IS NULL
  RETURNING id`;
