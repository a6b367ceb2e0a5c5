import { type ErrorCode, type ProtocolError, protocolError } from '../../protocol/errors.ts';
import type { Example, Header, Response } from '../../protocol/openapi-document.ts';
import { redirectWith } from '../../protocol/redirect-uri.ts';
import { ref, type SCHEMAS } from './schemas.ts';

const header = (description: string, required = true, type = 'string'): Header => ({
  description,
  required,
  schema: { type },
});

const limitHeaders = (required: boolean): Record<string, Header> => ({
  'RateLimit-Limit': header('Requests a minute, for token and revocation together.', required, 'integer'),
  'RateLimit-Remaining': header('How many are left in this window.', required, 'integer'),
  'RateLimit-Reset': header('Seconds until the window ends.', required, 'integer'),
});

/** Every request that names a client counts, and its response says what is left (protocol 8.1). */
export const LIMITED = limitHeaders(true);
export const LIMITED_IF_NAMED = limitHeaders(false);

export function success(
  description: string,
  schema: keyof typeof SCHEMAS,
  example: unknown,
  headers: Record<string, Header> = {},
): Response {
  const examples = { success: { summary: description, value: example } };
  return {
    description,
    headers: { 'Cache-Control': header('Always no-store.'), ...headers },
    content: { 'application/json': { schema: ref(schema), examples } },
  };
}

/** A status with one example per error, in the very words that are sent. */
export function failure(
  description: string,
  errors: Readonly<Record<string, readonly [ProtocolError, cause: string]>>,
  headers: Record<string, Header> = {},
): Response {
  const examples: Record<string, Example> = {};
  for (const [name, [{ code, description: error_description }, summary]] of Object.entries(errors)) {
    examples[name] = { summary, value: { error: code, error_description } };
  }
  return {
    description,
    headers: { ...headers, 'X-Request-Id': header('Of token and revocation: the id in error_uri.', false) },
    content: { 'application/json': { schema: ref('Error'), examples } },
  };
}

export const INVALID_CLIENT = failure(
  'The application could not be authenticated',
  {
    invalid_client: [
      protocolError('invalid_client'),
      'client_id or client_secret is wrong, or the application is disabled',
    ],
  },
  { ...LIMITED, 'WWW-Authenticate': header('Basic, the scheme that can be used besides the body.') },
);

export const TOO_LARGE = (error: ProtocolError): Response =>
  failure('The body is too large', { too_large: [error, 'More than 64 KiB were sent'] });

export const TOO_MANY = failure(
  'The limit is reached',
  {
    rate_limit_exceeded: [
      protocolError('rate_limit_exceeded'),
      'More requests than the limit in this minute; nothing was changed. Back off exponentially',
    ],
  },
  { ...LIMITED, 'Retry-After': header('Seconds to wait.', true, 'integer') },
);

export const SERVER_ERROR = failure('The service failed', {
  server_error: [
    protocolError('server_error'),
    'Unexpected failure, or the database did not respond in time: the request may have taken effect. Try once more',
  ],
});

export const UNAVAILABLE = failure(
  'Not available right now',
  {
    temporarily_unavailable: [
      protocolError('temporarily_unavailable'),
      'The database is away; nothing was changed. Try again with the same code or token',
    ],
  },
  { 'Retry-After': header('Seconds to wait.', true, 'integer') },
);

export const INVALID_TOKEN = failure(
  'The access token is absent, invalid or expired',
  {
    invalid_token: [
      protocolError('invalid_token'),
      'Refresh the tokens; if that fails, send the user through authorization again',
    ],
  },
  {
    'WWW-Authenticate': header('Bearer; with error="invalid_token" when a token was sent (RFC 6750 3).'),
  },
);

export const htmlPage = (description: string): Response => ({
  description,
  content: { 'text/html': { schema: { type: 'string' } } },
});

const CALLBACK = 'https://app.example/callback';
const ISSUER = { iss: 'https://id.example' };
const WHY = 'https://id.example/errors/0mzx3k2a1003f9c04d7a51e';

/** A redirect to the application, with a code or with one of the errors. */
export function redirection(
  description: string,
  errors: Readonly<Partial<Record<ErrorCode, string>>>,
): Response {
  const success = redirectWith(CALLBACK, { code: 'postern_code_…', ...ISSUER }, 'xyz');
  const examples: Record<string, Example> = { success: { summary: 'The user allowed it', value: success } };
  for (const [error, summary] of Object.entries(errors)) {
    const { description: error_description } = protocolError(error as ErrorCode);
    examples[error] = {
      summary,
      value: redirectWith(CALLBACK, { error, error_description, error_uri: WHY, ...ISSUER }, 'xyz'),
    };
  }
  return { description, headers: { Location: { ...header('Where the browser goes next.'), examples } } };
}
