import type { ErrorCode } from './errors.ts';
import { type Failure, type FailureReason, NO_DETAILS } from './failure-reason.ts';
import { decode, MAX_MALFORMED_PAIRS } from './parameters.ts';
import { isChallenge } from './pkce.ts';
import { NO_SCOPE, parseScope, type ScopeSet } from './scope.ts';

/** The parameters of an authorization request, read from its query (RFC 6749 4.1.1, RFC 7636 4.3). */
export type AuthorizationQuery = {
  readonly clientId: string | undefined;
  readonly redirectUri: string | undefined;
  /** Still percent-encoded: it goes back exactly as it was sent. */
  readonly rawState: string | undefined;
  readonly fault: AuthorizationFault | undefined;
  readonly codeChallenge: string;
  /** Undefined when the request names none: then it is what the application registered. */
  readonly scope: ScopeSet | undefined;
};

/** The error goes to the client in the redirect; the failure is for the application's developer. */
export type AuthorizationFault = { readonly error: ErrorCode; readonly failure: Failure };

/** Until client and redirect URI are known to belong together, an error must not be redirected (RFC 6749 4.1.2.1). */
export type UnredirectableFault =
  | 'client_id_missing'
  | 'client_unknown'
  | Extract<FailureReason, 'client_disabled' | 'redirect_uri_missing' | 'redirect_uri_unregistered'>;

const MAX_DETAIL_LENGTH = 100;

const shortened = (text: string): string => text.slice(0, MAX_DETAIL_LENGTH);

export function parseAuthorizationQuery(query: string): AuthorizationQuery {
  const { values, repeated, malformed } = readRaw(query);
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
    fault: shapeFault(repeated, malformed) ?? parameterFault(once, codeChallenge, scope),
    codeChallenge,
    scope,
  };
}

const invalidRequest = (failure: Failure): AuthorizationFault => ({ error: 'invalid_request', failure });

const parameterMissing = (missing: string): AuthorizationFault =>
  invalidRequest({ reason: 'parameter_missing', details: { missing } });

function shapeFault(repeated: ReadonlySet<string>, malformed: boolean): AuthorizationFault | undefined {
  if (repeated.size > 0) {
    const names = shortened([...repeated].join(' '));
    return invalidRequest({ reason: 'repeated', details: { repeated: names } });
  }
  return malformed ? invalidRequest({ reason: 'encoding', details: NO_DETAILS }) : undefined;
}

function parameterFault(
  once: (name: string) => string | undefined,
  codeChallenge: string,
  scope: ScopeSet | undefined,
): AuthorizationFault | undefined {
  const responseType = once('response_type');
  if (responseType === undefined) return parameterMissing('response_type');
  if (responseType !== 'code') {
    const details = { responseType: shortened(responseType) };
    return {
      error: 'unsupported_response_type',
      failure: { reason: 'unsupported_response_type', details },
    };
  }
  return challengeFault(once('code_challenge_method') ?? 'S256', codeChallenge) ?? scopeFault(scope, once);
}

/** PKCE with S256 is required of every client (protocol 5). */
function challengeFault(method: string, codeChallenge: string): AuthorizationFault | undefined {
  if (method !== 'S256')
    return invalidRequest({ reason: 'challenge_method', details: { method: shortened(method) } });
  if (isChallenge(codeChallenge)) return undefined;
  if (codeChallenge === '') return parameterMissing('code_challenge');
  return invalidRequest({ reason: 'challenge_malformed', details: { length: codeChallenge.length } });
}

function scopeFault(
  scope: ScopeSet | undefined,
  once: (name: string) => string | undefined,
): AuthorizationFault | undefined {
  if (scope !== NO_SCOPE) return undefined;
  const requested = shortened(once('scope') ?? '');
  return { error: 'invalid_scope', failure: { reason: 'unknown_scope', details: { requested } } };
}

/** Values are not decoded here, so that `state` can go back exactly as it was sent. */
function readRaw(query: string) {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  let malformed = 0;
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : pair.slice(equals + 1);
    if (name === undefined || (name !== 'state' && decode(value) === undefined)) malformed++;
    if (malformed === MAX_MALFORMED_PAIRS) break;
    if (name === undefined) continue;
    if (values.has(name)) repeated.add(name);
    values.set(name, value);
  }
  return { values, repeated, malformed: malformed > 0 };
}

/** Header values are ASCII: raw bytes beyond it go back percent-encoded. */
const asciiOnly = (text: string): string =>
  text.replaceAll(
    /[^\x21-\x7e]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
