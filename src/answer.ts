import { type ErrorCode, type ProtocolError, protocolError } from './protocol/errors.ts';
import type { Facts } from './store/request-records.ts';
import type { Link } from './store/store.ts';

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

/** Why it came out this way. Client and reason hold no credential, nor any text a stranger chose. */
export type Note = {
  readonly client?: string | undefined;
  readonly reason?: string | undefined;
  readonly entry?: EntryNote | undefined;
};

/** What the application's own request log tells besides. It may repeat what was sent: never for the service's log. */
export type EntryNote = {
  /** Who the request says it is from, where nothing has proven it. */
  readonly claimed?: string | undefined;
  /** What was presented; of a success, what it was exchanged for. */
  readonly link?: Link;
  readonly facts?: Facts;
  /** A client secret that was refused, as hashes: of it, and of it without the space around it. */
  readonly secret?: { readonly hash: string; readonly trimmed: string; readonly tail: string | undefined };
  /** This request ended a grant of that application. */
  readonly cut?: { readonly clientId: string; readonly kind: 'refresh_token_reuse' | 'code_replay' };
};

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

/** RFC 6749 5.2: where the developer reads why. The same for everybody, so that it tells nothing. */
export function withErrorUri(answer: Answer, requestId: string, uri: string): Answer {
  // The body is an object of our own making, and not an empty one.
  const body = `${answer.body.slice(0, -1)},"error_uri":${JSON.stringify(uri)}}`;
  return { ...answer, headers: { ...answer.headers, 'x-request-id': requestId }, body };
}

/** 303, so that the browser asks with GET whatever method brought it here. */
export function redirect(location: string, note?: Note): Answer {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  return note ? { status: 303, headers, body: '', note } : { status: 303, headers, body: '' };
}
