import type { GrantRef } from '../protocol/credentials.ts';
import { type ErrorCode, type ProtocolError, protocolError } from '../protocol/errors.ts';
import type { LogDetails } from '../store/request-log.ts';

/**
 * What a request comes back as: a value, written to the wire in one place (server.ts).
 * `diagnostics` is for the log alone.
 */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  /** The error the client was told, for what is counted. */
  readonly error?: ErrorCode;
  readonly diagnostics?: Diagnostics;
};

/** Why it came out this way. Client and reason hold no credential, nor any text a stranger chose. */
export type Diagnostics = {
  readonly clientId?: string | undefined;
  readonly reason?: string | undefined;
  readonly logEntry?: LogEntryDiagnostics | undefined;
};

/** What the application's own request log tells besides. It may repeat what was sent: never for the service's log. */
export type LogEntryDiagnostics = {
  /** Who the request says it is from, where nothing has proven it. */
  readonly claimedClientId?: string | undefined;
  /** What was presented; of a success, what it was exchanged for. */
  readonly ref?: GrantRef;
  readonly details?: LogDetails;
  /** A client secret that was refused, as hashes: of it, and of it without the space around it. */
  readonly rejectedSecret?: {
    readonly hash: string;
    readonly trimmed: string;
    readonly tail: string | undefined;
  };
  /** This request ended a grant of that application. */
  readonly revokedGrant?: { readonly clientId: string; readonly kind: 'refresh_token_reuse' | 'code_replay' };
};

const JSON_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
} as const;

export function jsonResponse(body: string, diagnostics?: Diagnostics): HttpResponse {
  return diagnostics
    ? { status: 200, headers: JSON_HEADERS, body, diagnostics }
    : { status: 200, headers: JSON_HEADERS, body };
}

/** RFC 6749 5.2. A failed client authentication names the scheme it could have used. */
export function errorResponse(error: ErrorCode | ProtocolError, diagnostics?: Diagnostics): HttpResponse {
  const { code, status, description } = typeof error === 'string' ? protocolError(error) : error;
  const headers =
    code === 'invalid_client'
      ? { ...JSON_HEADERS, 'www-authenticate': 'Basic realm="postern"' }
      : JSON_HEADERS;
  const body = JSON.stringify({ error: code, error_description: description });
  return diagnostics
    ? { status, headers, body, error: code, diagnostics }
    : { status, headers, body, error: code };
}

export function withHeaders(
  response: HttpResponse,
  headers: Readonly<Record<string, string | string[]>>,
): HttpResponse {
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** RFC 6749 5.2: where the developer reads why. The same for everybody, so that it tells nothing. */
export function withErrorUri(response: HttpResponse, requestId: string, uri: string): HttpResponse {
  // The body is an object of our own making, and not an empty one.
  const body = `${response.body.slice(0, -1)},"error_uri":${JSON.stringify(uri)}}`;
  return { ...response, headers: { ...response.headers, 'x-request-id': requestId }, body };
}

/** 303, so that the browser asks with GET whatever method brought it here. */
export function redirect(location: string, diagnostics?: Diagnostics): HttpResponse {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  return diagnostics ? { status: 303, headers, body: '', diagnostics } : { status: 303, headers, body: '' };
}
