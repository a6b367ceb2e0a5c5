import { type ErrorCode, type ProtocolError, protocolError } from './protocol/errors.ts';

/**
 * What a request comes back as: a value, written to the wire in one place (server.ts).
 * `note` is for the log alone.
 */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  /** The error the client was told, for what is counted. */
  readonly error?: ErrorCode;
  readonly note?: Note;
};

/** Why it came out this way. Never holds a credential, nor any text a stranger chose. */
export type Note = { readonly client?: string | undefined; readonly reason?: string | undefined };

const JSON_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
} as const;

export function json(body: string, note?: Note): Answer {
  return note
    ? { status: 200, headers: JSON_HEADERS, body, note }
    : { status: 200, headers: JSON_HEADERS, body };
}

/** RFC 6749 5.2. A failed client authentication names the scheme it could have used. */
export function errorAnswer(error: ErrorCode | ProtocolError, note?: Note): Answer {
  const { code, status, description } = typeof error === 'string' ? protocolError(error) : error;
  const headers =
    code === 'invalid_client'
      ? { ...JSON_HEADERS, 'www-authenticate': 'Basic realm="postern"' }
      : JSON_HEADERS;
  const body = JSON.stringify({ error: code, error_description: description });
  return note ? { status, headers, body, error: code, note } : { status, headers, body, error: code };
}

export function withHeaders(answer: Answer, headers: Readonly<Record<string, string | string[]>>): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** 303, so that the browser asks with GET whatever method brought it here. */
export function redirect(location: string, note?: Note): Answer {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  return note ? { status: 303, headers, body: '', note } : { status: 303, headers, body: '' };
}
