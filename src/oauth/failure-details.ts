import { hashClientSecret } from '../protocol/client-secret.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import type { CredentialKind, Failure, FailureReason } from '../protocol/failure-reason.ts';
import { NO_DETAILS } from '../protocol/failure-reason.ts';
import { param } from '../protocol/parameters.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { formatScope } from '../protocol/scope.ts';
import type { Diagnostics, RejectedSecret } from '../request-log/diagnostics.ts';

import type { Application } from '../store/applications.ts';
import type { GrantState, RefusedReason } from '../store/grants.ts';

/**
 * Exact reasons of refused token and revocation requests, for the application's request log. Computed only once a
 * request has failed. Of a credential never more than its last four characters.
 */

export type InvalidParameters = { readonly error: ErrorCode; readonly failure: Failure };

const MAX_TEXT_LENGTH = 100;
const MAX_URI_LENGTH = 2000;
const CHALLENGE_PREFIX_LENGTH = 8;

/** Undefined for a text so short that four characters would be much of it. */
const tailOf = (credential: string): string | undefined =>
  credential.length >= 20 ? credential.slice(-4) : undefined;

const challengePrefix = (challenge: string): string => challenge.slice(0, CHALLENGE_PREFIX_LENGTH);

/** The parameters among `names` that are absent; undefined when all are present. */
export function missing(
  parameters: ReadonlyMap<string, string>,
  names: readonly string[],
): InvalidParameters | undefined {
  if (names.every((name) => param(parameters, name))) return undefined;
  const absent = names.filter((name) => !param(parameters, name)).join(' ');
  return {
    error: 'invalid_request',
    failure: { reason: 'parameter_missing', details: { missing: absent } },
  };
}

export function unsupportedGrantType(sent: string): InvalidParameters {
  const grantType = sent.slice(0, MAX_TEXT_LENGTH);
  return {
    error: 'unsupported_grant_type',
    failure: { reason: 'unsupported_grant_type', details: { grantType } },
  };
}

export const rejectedSecret = (secret: string): RejectedSecret => ({
  hash: hashClientSecret(secret),
  trimmedHash: hashClientSecret(secret.trim()),
  tail: tailOf(secret),
});

const PREFIXES: readonly (readonly [prefix: string, kind: CredentialKind])[] = [
  ['postern_code_', 'code'],
  ['postern_rt_', 'refresh_token'],
  ['postern_at_', 'access_token'],
  ['postern_cs_', 'client_secret'],
];

export function unknownCredential(reason: 'not_a_code' | 'not_a_refresh_token', text: string): Diagnostics {
  const looksLike = PREFIXES.find(([prefix]) => text.startsWith(prefix))?.[1];
  return { failure: { reason, details: { looksLike, length: text.length, tail: tailOf(text) } } };
}

type Refused = { readonly reason: RefusedReason; readonly grant?: GrantState };

export function refusedCode(
  refused: Refused,
  ref: GrantRef,
  parameters: ReadonlyMap<string, string>,
  now: number,
): Diagnostics {
  return { ref, failure: codeFailure(refused, parameters, now) };
}

function codeFailure(refused: Refused, parameters: ReadonlyMap<string, string>, now: number): Failure {
  const { reason, grant } = refused;
  if (reason === 'wrong_redirect_uri') {
    const sent = param(parameters, 'redirect_uri')!.slice(0, MAX_URI_LENGTH);
    return { reason, details: { sent, expected: grant?.redirectUri ?? undefined } };
  }
  if (reason === 'wrong_verifier' && grant?.codeChallenge)
    return verifierFailure(grant.codeChallenge, param(parameters, 'code_verifier'));
  return grantFailure(refused, 'code_expired', now);
}

function verifierFailure(codeChallenge: string, verifier: string | undefined): Failure {
  if (verifier === undefined) return { reason: 'verifier_missing', details: NO_DETAILS };
  const hashed = challengeOf(verifier);
  if (hashed === undefined) return { reason: 'verifier_malformed', details: { length: verifier.length } };
  return {
    reason: 'wrong_verifier',
    details: {
      hashed: challengePrefix(hashed),
      expected: challengePrefix(codeChallenge),
      challengeSent: verifier === codeChallenge,
    },
  };
}

export function refusedRefreshToken(refused: Refused, ref: GrantRef, now: number): Diagnostics {
  return { ref, failure: grantFailure(refused, 'refresh_token_expired', now) };
}

function grantFailure(
  { reason, grant }: Refused,
  expired: 'code_expired' | 'refresh_token_expired',
  now: number,
): Failure {
  switch (reason) {
    case 'expired': {
      const expiredAt = grant?.expiresAt ?? now;
      return { reason: expired, details: { expiredAt, lateMs: now - expiredAt } };
    }
    case 'grant_revoked':
      return {
        reason,
        details: {
          revokedAt: grant?.revokedAt ?? now,
          revokedReason: grant?.revokedReason ?? 'revoked_by_client',
        },
      };
    case 'wrong_redirect_uri':
    case 'wrong_verifier':
      return { reason: 'grant_unknown', details: NO_DETAILS };
    default:
      return { reason, details: NO_DETAILS };
  }
}

type Repeated = { readonly revoked: boolean; readonly grant: GrantState };

const OTHER_CLIENT = { ofOtherClient: true } as const;

export function replayedCode(
  { revoked, grant }: Repeated,
  ref: GrantRef,
  { clientId }: Application,
): Diagnostics {
  // After a rotation the last use is no longer that of the exchange.
  const exchangedAt = grant.generation === 1 ? (grant.lastUsedAt ?? undefined) : undefined;
  return {
    ref,
    failure: {
      reason: revoked ? 'code_replayed_grant_revoked' : 'code_replayed',
      details: grant.clientId === clientId ? { exchangedAt } : OTHER_CLIENT,
    },
    ...(revoked && { revokedGrant: { clientId: grant.clientId, kind: 'code_replay' } }),
  };
}

export function reusedRefreshToken(
  { revoked, grant }: Repeated,
  ref: GrantRef,
  { clientId }: Application,
): Diagnostics {
  const rotations = grant.generation - ref.generation;
  return {
    ref,
    failure: {
      reason: revoked ? 'refresh_token_reused_grant_revoked' : 'refresh_token_reused',
      details:
        grant.clientId === clientId ? { rotations, lastUsedAt: grant.lastUsedAt ?? undefined } : OTHER_CLIENT,
    },
    ...(revoked && { revokedGrant: { clientId: grant.clientId, kind: 'refresh_token_reuse' } }),
  };
}

export function scopeNotGranted(
  reason: Extract<FailureReason, 'unknown_scope' | 'scope_exceeded'>,
  requested: string,
  grant: GrantState,
): Diagnostics {
  const details = { requested: requested.slice(0, MAX_TEXT_LENGTH), granted: formatScope(grant.scope) };
  return { failure: { reason, details } };
}
