import { type ErrorCode, type ProtocolError, protocolError } from '../protocol/errors.ts';
import type { Diagnostics } from '../request-log/diagnostics.ts';

/** The outcome of a request, as a value. server.ts alone writes it to the wire. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  /** The OAuth error code in the body or redirect. */
  readonly error?: ErrorCode;
  readonly diagnostics?: Diagnostics;
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

/** Seconds after which a database that failed over, or a queue that was full, is likely to be back. */
const RETRY_AFTER = { 'retry-after': '5' } as const;

/** A failed client authentication names the scheme it could have used (RFC 6749 5.2). */
const ERROR_HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  invalid_client: { ...JSON_HEADERS, 'www-authenticate': 'Basic realm="postern"' },
  temporarily_unavailable: { ...JSON_HEADERS, ...RETRY_AFTER },
};

export function errorResponse(error: ErrorCode | ProtocolError, diagnostics?: Diagnostics): HttpResponse {
  const { code, status, description } = typeof error === 'string' ? protocolError(error) : error;
  const headers = ERROR_HEADERS[code] ?? JSON_HEADERS;
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

/** RFC 6749 5.2: where the application's developer reads why. Always present, so that it discloses nothing. */
export function withErrorUri(response: HttpResponse, requestId: string, uri: string): HttpResponse {
  // Appended by hand: error bodies are non-empty objects of our own making.
  const body = `${response.body.slice(0, -1)},"error_uri":${JSON.stringify(uri)}}`;
  return { ...response, headers: { ...response.headers, 'x-request-id': requestId }, body };
}

/** 303, so that the browser follows with GET whatever the method of this request was. */
export function redirect(location: string, diagnostics?: Diagnostics): HttpResponse {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  return diagnostics ? { status: 303, headers, body: '', diagnostics } : { status: 303, headers, body: '' };
}
