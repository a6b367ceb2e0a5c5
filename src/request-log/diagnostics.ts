import type { HealthProblem } from '../observability/service-health.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import type { Failure, SuccessReason } from '../protocol/failure-reason.ts';

/**
 * A handler's report about a request, besides its response. The access log, metrics and traces see `clientId` and the
 * reason only. The rest may repeat what was sent, and goes to the application's own request log.
 */
export type Diagnostics = {
  /** The client: authenticated, or at the authorize endpoint the one whose consent screen was asked for. */
  readonly clientId?: string | undefined;
  /** The client that the request names but has not authenticated as. */
  readonly claimedClientId?: string | undefined;
  readonly failure?: Failure;
  readonly success?: SuccessReason;
  /** For requests that have no request log: access log only. */
  readonly reason?: AccessLogReason;
  /** The credential that was presented; of a success, the one that was issued. */
  readonly ref?: GrantRef;
  /** A client secret that did not match. The request log finds out why, after the response. */
  readonly rejectedSecret?: RejectedSecret;
  /** This request revoked a grant of that application, because a credential was presented twice. */
  readonly revokedGrant?: RevokedGrant;
};

/** Hashes of the secret, and of the secret without surrounding white space. */
export type RejectedSecret = {
  readonly hash: string;
  readonly trimmedHash: string;
  readonly tail: string | undefined;
};

export type RevokedGrant = {
  readonly clientId: string;
  readonly kind: 'refresh_token_reuse' | 'code_replay';
};

/** Reasons that appear in the access log only. */
export type AccessLogReason =
  | 'invalid_client'
  | 'body_too_large'
  | 'malformed_path'
  | 'client_id_missing'
  | 'client_unknown'
  // ---- access tokens (userinfo, introspection)
  | 'no_token'
  | 'not_an_access_token'
  | 'access_token_expired'
  | 'access_token_inactive'
  | 'application_disabled'
  | 'not_a_resource_server'
  | 'rate_limited_address'
  | HealthProblem
  // ---- pages
  | 'csrf_token'
  | 'dead_link'
  | 'consent_expired'
  | 'too_many_grants'
  | 'created'
  | 'saved'
  | 'enabled'
  | 'disabled'
  | 'deleted'
  | 'secret_added'
  | 'secret_shown'
  | 'secret_removed';

/** The reason as the access log and traces print it. */
export const reasonOf = (diagnostics: Diagnostics | undefined): string | undefined =>
  diagnostics?.failure?.reason ?? diagnostics?.success ?? diagnostics?.reason;
