import type { GrantRef } from '../protocol/credentials.ts';
import type { Driver } from './drivers/driver.ts';

const ADD = `
  INSERT INTO revoked_access_tokens (user_id, grant_id, generation, expires_at)
  SELECT user_id, id, CAST($3 AS INTEGER), CAST($5 AS BIGINT) FROM grants
  WHERE user_id = $1 AND id = $2 AND client_id = $4 AND revoked_at IS NULL
  ON CONFLICT DO NOTHING`;

const SWEEP = `
  DELETE FROM revoked_access_tokens WHERE (user_id, grant_id, generation) IN (
    SELECT user_id, grant_id, generation FROM revoked_access_tokens WHERE expires_at <= $1 LIMIT $2)
  RETURNING generation`;

/** Access tokens revoked on their own, without their grant: remembered until they would have expired. */
export class SqlRevokedAccessTokens {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** Does nothing when the grant is another client's. */
  async add(ref: GrantRef, clientId: string, expiresAt: number): Promise<void> {
    await this.#driver.write(ADD, [ref.userId, ref.grantId, ref.generation, clientId, expiresAt]);
  }

  async sweep(limit: number, now: number): Promise<number> {
    return (await this.#driver.write(SWEEP, [now, limit])).length;
  }
}
