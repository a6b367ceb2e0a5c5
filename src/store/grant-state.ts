import type { Row } from './drivers/driver.ts';
import type { RevokedReason } from './store.ts';

/** A grant as an attempt that failed found it: what an application's request log tells of the failure. */
export type GrantState = {
  readonly clientId: string;
  readonly generation: number;
  readonly scope: number;
  /** Of the live link. */
  readonly expiresAt: number;
  readonly lastUsedAt: number | null;
  /** What the code is bound to; null once that is of no use any more. */
  readonly redirectUri: string | null;
  readonly codeChallenge: string | null;
  readonly revokedAt: number | null;
  readonly revokedReason: RevokedReason | null;
};

const nullableNumber = (value: Row[string] | undefined): number | null =>
  value === null || value === undefined ? null : Number(value);

export function grantStateOf(row: Row): GrantState {
  return {
    clientId: row.client_id as string,
    generation: Number(row.generation),
    scope: Number(row.scope),
    expiresAt: Number(row.expires_at),
    lastUsedAt: nullableNumber(row.last_used_at),
    redirectUri: row.redirect_uri as string | null,
    codeChallenge: row.code_challenge as string | null,
    revokedAt: nullableNumber(row.revoked_at),
    revokedReason: row.revoked_reason as RevokedReason | null,
  };
}
