/**
 * Every reason for which a request to the authorize, token or revoke endpoint can fail, with the details that make
 * it exact. The client receives a general error (errors.ts); these go to the application's own request log. Details
 * never hold a credential: at most its last four characters.
 */
export type FailureDetails = {
  // ---- the shape of a request
  readonly content_type: NoDetails;
  readonly encoding: NoDetails;
  readonly json: NoDetails;
  readonly not_a_string: NoDetails;
  readonly too_many: NoDetails;
  /** Names separated by spaces, where they are known. */
  readonly repeated: { readonly repeated?: string };
  readonly credentials_in_query: NoDetails;
  readonly two_authentication_methods: NoDetails;
  readonly two_client_ids: NoDetails;
  /** Names separated by spaces. */
  readonly parameter_missing: { readonly missing: string };
  readonly unsupported_grant_type: { readonly grantType: string };
  readonly server_error: NoDetails;
  /** The response of the database was lost: the request may have taken effect (decision 012). */
  readonly outcome_unknown: NoDetails;
  /** The database is away, or a bounded resource is used up: nothing was changed. */
  readonly temporarily_unavailable: NoDetails;
  readonly rate_limited_address: NoDetails;
  readonly rate_limited_client: NoDetails;
  // ---- the application's credentials
  readonly secret_wrong: SecretTail & { readonly activeTails: string };
  readonly secret_padded: SecretTail;
  readonly secret_removed: SecretTail & { readonly retiredAt: number };
  readonly secret_expired: SecretTail & { readonly retiredAt: number };
  readonly application_disabled: { readonly disabledBy: 'owner' | 'operator' };
  // ---- codes
  readonly not_a_code: UnknownCredential;
  readonly wrong_redirect_uri: UriMismatch;
  readonly verifier_missing: NoDetails;
  readonly verifier_malformed: { readonly length: number };
  /** Beginnings of the challenges: neither is a secret, and this much is enough to compare. */
  readonly wrong_verifier: {
    readonly hashed: string;
    readonly expected: string;
    /** The challenge itself was sent in place of the verifier. */
    readonly challengeSent: boolean;
  };
  readonly code_expired: Expiry;
  readonly code_replayed: CodeReplay;
  readonly code_replayed_grant_revoked: CodeReplay;
  // ---- refresh tokens
  readonly not_a_refresh_token: UnknownCredential;
  readonly refresh_token_expired: Expiry;
  readonly refresh_token_reused: TokenReuse;
  readonly refresh_token_reused_grant_revoked: TokenReuse;
  readonly unknown_scope: { readonly requested: string; readonly granted?: string };
  readonly scope_exceeded: { readonly requested: string; readonly granted?: string };
  // ---- grants
  readonly wrong_client: NoDetails;
  readonly grant_revoked: { readonly revokedAt: number; readonly revokedReason: RevokedReason };
  readonly user_disabled: NoDetails;
  readonly grant_unknown: NoDetails;
  readonly grant_behind_token: NoDetails;
  // ---- authorization requests
  readonly client_disabled: NoDetails;
  readonly redirect_uri_missing: NoDetails;
  readonly redirect_uri_unregistered: UriMismatch;
  readonly unsupported_response_type: { readonly responseType: string };
  readonly challenge_method: { readonly method: string };
  readonly challenge_malformed: { readonly length: number };
  readonly scope_unregistered: { readonly requested: string; readonly registered: string };
  readonly access_denied: NoDetails;
};

export type FailureReason = keyof FailureDetails;

/** A reason with its own details. */
export type Failure<R extends FailureReason = FailureReason> = R extends FailureReason
  ? { readonly reason: R; readonly details: FailureDetails[R] }
  : never;

export const NO_DETAILS: NoDetails = {};

export type NoDetails = Readonly<Record<string, never>>;
type SecretTail = { readonly tail?: string | undefined };
type Expiry = { readonly expiredAt: number; readonly lateMs: number };
type UriMismatch = { readonly sent: string; readonly expected?: string | undefined };
/** Text that was never issued as what it was sent as. */
type UnknownCredential = {
  readonly looksLike?: CredentialKind | undefined;
  readonly length: number;
  readonly tail?: string | undefined;
};
/** Nothing is disclosed of another application's grant. */
type CodeReplay = { readonly ofOtherClient: true } | { readonly exchangedAt?: number | undefined };
type TokenReuse =
  | { readonly ofOtherClient: true }
  | { readonly rotations: number; readonly lastUsedAt?: number | undefined };

export type CredentialKind = 'code' | 'refresh_token' | 'access_token' | 'client_secret';

/** Results of successful requests. */
export type SuccessReason =
  | 'consent_shown'
  | 'code_issued'
  | 'code_exchanged'
  | 'refreshed'
  | 'revoked'
  | 'access_token_revoked'
  | 'nothing_revoked';

/** Why a grant was revoked before it expired. */
export type RevokedReason =
  | 'refresh_token_reuse'
  | 'code_replay'
  | 'revoked_by_client'
  | 'disconnected_by_user'
  | 'account_deleted'
  | 'application_deleted'
  /** The user has given the application too many newer ones. */
  | 'superseded'
  /** The row was older than a token issued from it: see docs/operations.md on restoring a backup. */
  | 'database_restored';
