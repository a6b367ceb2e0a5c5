import type { Note } from '../answer.ts';
import { hashClientSecret } from '../protocol/client-secret.ts';
import { given } from '../protocol/parameters.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { formatScope } from '../protocol/scope.ts';
import type { GrantState } from '../store/grant-state.ts';
import type { Facts } from '../store/request-records.ts';
import type { Application, Link, Refusal } from '../store/store.ts';
import type { Demand } from './client-request.ts';

/**
 * What the application's request log tells of a refused token or revocation request. Made only once a
 * request has failed. Of a credential never more than its last four characters.
 */

const LONGEST_TEXT = 100;
const LONGEST_URI = 2000;

/** The end of a credential, to recognise it by; nothing of what is so short that the end is most of it. */
export const tailOf = (credential: string): string | undefined =>
  credential.length >= 20 ? credential.slice(-4) : undefined;

/** A challenge and the hash of a verifier are no secrets; their beginnings are enough to compare. */
const beginning = (challenge: string): string => challenge.slice(0, 8);

export function missing(parameters: ReadonlyMap<string, string>, names: readonly string[]): Demand {
  const absent = names.filter((name) => !given(parameters, name));
  return { error: 'invalid_request', reason: 'parameter_missing', facts: { missing: absent.join(' ') } };
}

export function unsupportedGrantType(parameters: ReadonlyMap<string, string>): Demand {
  const sent = given(parameters, 'grant_type')!.slice(0, LONGEST_TEXT);
  return { error: 'unsupported_grant_type', reason: 'unsupported_grant_type', facts: { grant_type: sent } };
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
export function notOurs(reason: 'not_a_code' | 'not_a_refresh_token', text: string): Note {
  const looksLike = PREFIXES.find(([prefix]) => text.startsWith(prefix))?.[1];
  return {
    reason,
    entry: { facts: { looks_like: looksLike, length: text.length, tail: tailOf(text) } },
  };
}

export function refusedCode(
  { reason, grant }: { readonly reason: Refusal; readonly grant?: GrantState },
  link: Link,
  parameters: ReadonlyMap<string, string>,
  now: number,
): Note {
  if (reason === 'wrong_verifier' && grant) return refusedVerifier(grant, link, parameters);
  const facts: Facts =
    reason === 'wrong_redirect_uri'
      ? {
          sent: given(parameters, 'redirect_uri')!.slice(0, LONGEST_URI),
          expected: grant?.redirectUri ?? undefined,
        }
      : endOf(reason, grant, now);
  return { reason: codeReason(reason), entry: { link, facts } };
}

function refusedVerifier(grant: GrantState, link: Link, parameters: ReadonlyMap<string, string>): Note {
  const verifier = given(parameters, 'code_verifier');
  if (verifier === undefined) return { reason: 'verifier_missing', entry: { link } };
  const hashed = challengeOf(verifier);
  if (hashed === undefined)
    return { reason: 'verifier_malformed', entry: { link, facts: { length: verifier.length } } };
  const expected = beginning(grant.codeChallenge ?? '');
  const sentChallenge = verifier === grant.codeChallenge ? 1 : undefined;
  const facts = { hashed: beginning(hashed), expected, sent_challenge: sentChallenge };
  return { reason: 'wrong_verifier', entry: { link, facts } };
}

/** The same refusal means something else for a code than for a refresh token. */
const codeReason = (reason: Refusal): string => (reason === 'expired' ? 'code_expired' : reason);

export function refusedRefreshToken(
  { reason, grant }: { readonly reason: Refusal; readonly grant?: GrantState },
  link: Link,
  now: number,
): Note {
  const named = reason === 'expired' ? 'refresh_token_expired' : reason;
  return { reason: named, entry: { link, facts: endOf(reason, grant, now) } };
}

/** When it was over. Nothing is told of a grant of another application. */
function endOf(reason: Refusal, grant: GrantState | undefined, now: number): Facts {
  if (!grant) return {};
  if (reason === 'expired') return { expired_at: grant.expiresAt, late_ms: now - grant.expiresAt };
  if (reason === 'ended')
    return { ended_at: grant.endedAt ?? undefined, ended_by: grant.endedBy ?? undefined };
  return {};
}

type Repeated = { readonly cut: boolean; readonly grant: GrantState };

export function replayedCode({ cut, grant }: Repeated, link: Link, { clientId }: Application): Note {
  const ours = grant.clientId === clientId;
  const exchangedAt = grant.generation === 1 ? (grant.lastUsedAt ?? undefined) : undefined;
  return {
    reason: cut ? 'code_replayed_grant_cut' : 'code_replayed',
    entry: {
      link,
      facts: ours ? { exchanged_at: exchangedAt } : { foreign: 1 },
      ...(cut && { cut: { clientId: grant.clientId, kind: 'code_replay' } }),
    },
  };
}

export function reusedRefreshToken({ cut, grant }: Repeated, link: Link, { clientId }: Application): Note {
  const ours = grant.clientId === clientId;
  const rotations = grant.generation - link.generation;
  return {
    reason: cut ? 'refresh_token_reused_grant_cut' : 'refresh_token_reused',
    entry: {
      link,
      facts: ours ? { rotations, last_used_at: grant.lastUsedAt ?? undefined } : { foreign: 1 },
      ...(cut && { cut: { clientId: grant.clientId, kind: 'refresh_token_reuse' } }),
    },
  };
}

export function refusedScope(
  reason: 'unknown_scope' | 'scope_exceeded',
  asked: string,
  grant?: GrantState,
): Note {
  const granted = grant && formatScope(grant.scope);
  return { reason, entry: { facts: { asked: asked.slice(0, LONGEST_TEXT), granted } } };
}
