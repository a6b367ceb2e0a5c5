import type { Diagnostics } from '../http/response.ts';
import { hashClientSecret } from '../protocol/client-secret.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import { param } from '../protocol/parameters.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { formatScope } from '../protocol/scope.ts';
import type { Application } from '../store/applications.ts';
import type { GrantState, RefusedReason } from '../store/grants.ts';
import type { LogDetails } from '../store/request-log.ts';
import type { ValidationFailure } from './client-auth.ts';

/**
 * What the application's request log tells of a refused token or revocation request. Made only once a
 * request has failed. Of a credential never more than its last four characters.
 */

const MAX_TEXT_LENGTH = 100;
const MAX_URI_LENGTH = 2000;

/** The end of a credential, to recognise it by; nothing of what is so short that the end is most of it. */
export const tailOf = (credential: string): string | undefined =>
  credential.length >= 20 ? credential.slice(-4) : undefined;

/** A challenge and the hash of a verifier are no secrets; their beginnings are enough to compare. */
const beginning = (challenge: string): string => challenge.slice(0, 8);

export function missing(
  parameters: ReadonlyMap<string, string>,
  names: readonly string[],
): ValidationFailure {
  const absent = names.filter((name) => !param(parameters, name));
  return { error: 'invalid_request', reason: 'parameter_missing', details: { missing: absent.join(' ') } };
}

export function unsupportedGrantType(parameters: ReadonlyMap<string, string>): ValidationFailure {
  const sent = param(parameters, 'grant_type')!.slice(0, MAX_TEXT_LENGTH);
  return { error: 'unsupported_grant_type', reason: 'unsupported_grant_type', details: { grant_type: sent } };
}

/** Hashes alone: the log looks later whether they are those of a secret that has ended. */
export function refusedSecret(secret: string) {
  const hash = hashClientSecret(secret);
  return { hash, trimmed: hashClientSecret(secret.trim()), tail: tailOf(secret) };
}

const PREFIXES = [
  ['postern_code_', 'a code'],
  ['postern_rt_', 'a refresh token'],
  ['postern_at_', 'an access token'],
  ['postern_cs_', 'a client secret'],
] as const;

/** Text that was never issued as what it was sent as. */
export function notOurs(reason: 'not_a_code' | 'not_a_refresh_token', text: string): Diagnostics {
  const looksLike = PREFIXES.find(([prefix]) => text.startsWith(prefix))?.[1];
  return {
    reason,
    logEntry: { details: { looks_like: looksLike, length: text.length, tail: tailOf(text) } },
  };
}

export function refusedCode(
  { reason, grant }: { readonly reason: RefusedReason; readonly grant?: GrantState },
  ref: GrantRef,
  parameters: ReadonlyMap<string, string>,
  now: number,
): Diagnostics {
  if (reason === 'wrong_verifier' && grant) return refusedVerifier(grant, ref, parameters);
  const details: LogDetails =
    reason === 'wrong_redirect_uri'
      ? {
          sent: param(parameters, 'redirect_uri')!.slice(0, MAX_URI_LENGTH),
          expected: grant?.redirectUri ?? undefined,
        }
      : endOf(reason, grant, now);
  return { reason: codeReason(reason), logEntry: { ref, details } };
}

function refusedVerifier(
  grant: GrantState,
  ref: GrantRef,
  parameters: ReadonlyMap<string, string>,
): Diagnostics {
  const verifier = param(parameters, 'code_verifier');
  if (verifier === undefined) return { reason: 'verifier_missing', logEntry: { ref } };
  const hashed = challengeOf(verifier);
  if (hashed === undefined)
    return { reason: 'verifier_malformed', logEntry: { ref, details: { length: verifier.length } } };
  const expected = beginning(grant.codeChallenge ?? '');
  const sentChallenge = verifier === grant.codeChallenge ? 1 : undefined;
  const details = { hashed: beginning(hashed), expected, sent_challenge: sentChallenge };
  return { reason: 'wrong_verifier', logEntry: { ref, details } };
}

/** The same refusal means something else for a code than for a refresh token. */
const codeReason = (reason: RefusedReason): string => (reason === 'expired' ? 'code_expired' : reason);

export function refusedRefreshToken(
  { reason, grant }: { readonly reason: RefusedReason; readonly grant?: GrantState },
  ref: GrantRef,
  now: number,
): Diagnostics {
  const named = reason === 'expired' ? 'refresh_token_expired' : reason;
  return { reason: named, logEntry: { ref, details: endOf(reason, grant, now) } };
}

/** When it was over. Nothing is told of a grant of another application. */
function endOf(reason: RefusedReason, grant: GrantState | undefined, now: number): LogDetails {
  if (!grant) return {};
  if (reason === 'expired') return { expired_at: grant.expiresAt, late_ms: now - grant.expiresAt };
  if (reason === 'ended')
    return { ended_at: grant.revokedAt ?? undefined, ended_by: grant.revokedReason ?? undefined };
  return {};
}

type Repeated = { readonly revoked: boolean; readonly grant: GrantState };

export function replayedCode(
  { revoked, grant }: Repeated,
  ref: GrantRef,
  { clientId }: Application,
): Diagnostics {
  const ours = grant.clientId === clientId;
  const exchangedAt = grant.generation === 1 ? (grant.lastUsedAt ?? undefined) : undefined;
  return {
    reason: revoked ? 'code_replayed_grant_cut' : 'code_replayed',
    logEntry: {
      ref,
      details: ours ? { exchanged_at: exchangedAt } : { foreign: 1 },
      ...(revoked && { revokedGrant: { clientId: grant.clientId, kind: 'code_replay' } }),
    },
  };
}

export function reusedRefreshToken(
  { revoked, grant }: Repeated,
  ref: GrantRef,
  { clientId }: Application,
): Diagnostics {
  const ours = grant.clientId === clientId;
  const rotations = grant.generation - ref.generation;
  return {
    reason: revoked ? 'refresh_token_reused_grant_cut' : 'refresh_token_reused',
    logEntry: {
      ref,
      details: ours ? { rotations, last_used_at: grant.lastUsedAt ?? undefined } : { foreign: 1 },
      ...(revoked && { revokedGrant: { clientId: grant.clientId, kind: 'refresh_token_reuse' } }),
    },
  };
}

export function refusedScope(
  reason: 'unknown_scope' | 'scope_exceeded',
  asked: string,
  grant?: GrantState,
): Diagnostics {
  const granted = grant && formatScope(grant.scope);
  return { reason, logEntry: { details: { asked: asked.slice(0, MAX_TEXT_LENGTH), granted } } };
}
