/**
 * Error codes that a client can receive, each with its status and one fixed description (protocol 7, RFC 6749 5.2).
 * A description never echoes input, nor discloses which check failed: the exact reason (failure-reason.ts) goes to the
 * application's own request log.
 */
export type ErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'invalid_token'
  | 'rate_limit_exceeded'
  | 'server_error'
  | 'temporarily_unavailable';

const STATUS: Record<ErrorCode, number> = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  invalid_scope: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  access_denied: 403,
  invalid_token: 401,
  rate_limit_exceeded: 429,
  server_error: 500,
  temporarily_unavailable: 503,
};

const DESCRIPTION: Record<ErrorCode, string> = {
  invalid_request: 'A required parameter is missing, repeated or malformed.',
  invalid_client: 'The client_id or client_secret is wrong, or the application is disabled.',
  invalid_grant:
    'The code or refresh token is invalid, expired, already used or does not match this request.',
  invalid_scope: 'The scope is unknown or goes beyond what was granted.',
  unsupported_grant_type: 'The grant_type must be authorization_code or refresh_token.',
  unsupported_response_type: 'The response_type must be code.',
  access_denied: 'The user refused the request.',
  invalid_token: 'The access token is missing, invalid or expired.',
  rate_limit_exceeded: 'Too many requests. Wait as long as Retry-After says, then try again.',
  server_error: 'The service failed unexpectedly. The request may have taken effect. Try again later.',
  temporarily_unavailable:
    'The service is not available right now. Nothing was changed. Wait as long as Retry-After says, then try again.',
};

export type ProtocolError = {
  readonly code: ErrorCode;
  readonly status: number;
  readonly description: string;
};

/** Descriptions that replace a code's usual one. */
export const REUSED_REFRESH_TOKEN =
  'The refresh token was already used. All tokens of this session are revoked; send the user through authorization again.';
export const BODY_TOO_LARGE = 'The request body is larger than 64 KiB.';
export const METHOD_NOT_ALLOWED =
  'This method is not allowed here; the Allow header names the ones that are.';
export const NOT_FOUND = 'There is nothing at this address.';

export function protocolError(
  code: ErrorCode,
  description = DESCRIPTION[code],
  status = STATUS[code],
): ProtocolError {
  return { code, status, description };
}

/** Too busy to do this now: the error boundary answers `temporarily_unavailable` (503), and trying again may help. */
export class TemporarilyUnavailable extends Error {
  override readonly name = 'TemporarilyUnavailable';
}

/** Where the developer of the application finds the reason (RFC 6749 5.2). */
export const errorUri = (baseUrl: string, requestId: string): string => `${baseUrl}/errors/${requestId}`;
