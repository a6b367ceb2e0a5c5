import type { ErrorCode } from './errors.ts';
import { decode } from './parameters.ts';
import { isChallenge } from './pkce.ts';
import { NO_SCOPE, parseScope, type ScopeSet } from './scope.ts';

/** The parameters of an authorization request, read from its query (RFC 6749 4.1.1, RFC 7636 4.3). */
export type AuthorizationQuery = {
  readonly clientId: string | undefined;
  readonly redirectUri: string | undefined;
  /** As it was sent, percent-encoding and all: it goes back unchanged. */
  readonly rawState: string | undefined;
  /** What is wrong with the rest: the code is told to the client through the redirect, why is for its developer. */
  readonly fault: AuthorizationFault | undefined;
  readonly codeChallenge: string;
  /** Undefined when none was asked for: then it is what the application registered. */
  readonly scope: ScopeSet | undefined;
};

export type AuthorizationFault = {
  readonly error: ErrorCode;
  readonly reason: string;
  readonly details?: Readonly<Record<string, string | number>>;
};

/** Until client and redirect URI are known to belong together, an error must not be redirected (RFC 6749 4.1.2.1). */
export type UnredirectableFault =
  | 'client_id_missing'
  | 'client_unknown'
  | 'client_disabled'
  | 'redirect_uri_missing'
  | 'redirect_uri_unregistered';

const MAX_DETAIL_LENGTH = 100;

export function parseAuthorizationQuery(query: string): AuthorizationQuery {
  const { values, repeated, broken } = readRaw(query);
  const once = (name: string): string | undefined =>
    repeated.has(name) ? undefined : decode(values.get(name) ?? '') || undefined;
  const rawState = repeated.has('state') ? undefined : values.get('state') || undefined;
  const scopeText = once('scope');
  const codeChallenge = once('code_challenge') ?? '';
  const scope = scopeText === undefined ? undefined : (parseScope(scopeText) ?? NO_SCOPE);
  return {
    clientId: once('client_id'),
    redirectUri: once('redirect_uri'),
    rawState: rawState && asciiOnly(rawState),
    fault: shapeFault(repeated, broken) ?? faultOf(once, codeChallenge, scope),
    codeChallenge,
    scope,
  };
}

function shapeFault(repeated: ReadonlySet<string>, broken: boolean): AuthorizationFault | undefined {
  if (repeated.size > 0) {
    const names = [...repeated].join(' ').slice(0, MAX_DETAIL_LENGTH);
    return { error: 'invalid_request', reason: 'repeated', details: { repeated: names } };
  }
  return broken ? { error: 'invalid_request', reason: 'encoding' } : undefined;
}

function faultOf(
  once: (name: string) => string | undefined,
  codeChallenge: string,
  scope: ScopeSet | undefined,
): AuthorizationFault | undefined {
  const responseType = once('response_type');
  if (responseType === undefined)
    return { error: 'invalid_request', reason: 'parameter_missing', details: { missing: 'response_type' } };
  if (responseType !== 'code')
    return {
      error: 'unsupported_response_type',
      reason: 'unsupported_response_type',
      details: { response_type: responseType.slice(0, MAX_DETAIL_LENGTH) },
    };
  return challengeFault(once('code_challenge_method') ?? 'S256', codeChallenge) ?? scopeFault(scope, once);
}

function challengeFault(method: string, codeChallenge: string): AuthorizationFault | undefined {
  if (method !== 'S256')
    return {
      error: 'invalid_request',
      reason: 'challenge_method',
      details: { method: method.slice(0, MAX_DETAIL_LENGTH) },
    };
  if (isChallenge(codeChallenge)) return undefined;
  if (codeChallenge === '')
    return { error: 'invalid_request', reason: 'parameter_missing', details: { missing: 'code_challenge' } };
  return {
    error: 'invalid_request',
    reason: 'challenge_malformed',
    details: { length: codeChallenge.length },
  };
}

function scopeFault(
  scope: ScopeSet | undefined,
  once: (name: string) => string | undefined,
): AuthorizationFault | undefined {
  if (scope !== NO_SCOPE) return undefined;
  const asked = (once('scope') ?? '').slice(0, MAX_DETAIL_LENGTH);
  return { error: 'invalid_scope', reason: 'unknown_scope', details: { asked } };
}

/** Pairs as they stand in the query: values are not decoded, so that `state` can go back exactly as it came. */
function readRaw(query: string) {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  let broken = false;
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : pair.slice(equals + 1);
    if (name === undefined || (name !== 'state' && decode(value) === undefined)) broken = true;
    if (name === undefined) continue;
    if (values.has(name)) repeated.add(name);
    values.set(name, value);
  }
  return { values, repeated, broken };
}

/** A header holds ASCII only; what came in raw beyond it goes back percent-encoded. */
const asciiOnly = (text: string): string =>
  text.replaceAll(
    /[^\x21-\x7e]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
