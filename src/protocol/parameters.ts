import { isUtf8 } from 'node:buffer';

/**
 * Request parameters from a form body, a JSON body or a query string. A fault makes the whole request malformed
 * (`invalid_request`). The readable parameters are returned with it: a request that names a client counts against its
 * limit even when it is malformed (protocol 8.1).
 */
type Parameters = { readonly values: ReadonlyMap<string, string>; readonly fault?: ParameterFault };
type ParameterFault = 'content_type' | 'encoding' | 'json' | 'not_a_string' | 'repeated' | 'too_many';

const NONE: ReadonlyMap<string, string> = new Map();

/** Far more than any client sends. */
const MAX_PAIRS = 1_000;

/** Each malformed pair costs an exception: after so many the rest of the request is not read. */
export const MAX_MALFORMED_PAIRS = 20;

export function parseBody(contentType: string | undefined, body: Buffer): Parameters {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded' && type !== 'application/json') {
    // Without a body there need not be a content type: the parameters are then merely missing.
    return body.length === 0 && type === undefined
      ? { values: NONE }
      : { values: NONE, fault: 'content_type' };
  }
  const text = body.toString('utf8');
  const read = type === 'application/json' ? parseJson(text) : parseForm(text);
  return isUtf8(body) ? read : { ...read, fault: 'encoding' };
}

/** Parses application/x-www-form-urlencoded strictly: malformed percent-encoding or UTF-8 is a fault. */
export function parseForm(text: string): Parameters {
  const values = new Map<string, string>();
  let fault: ParameterFault | undefined;
  let malformed = 0;
  let pairs = 0;
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    if (++pairs > MAX_PAIRS) return finished(values, 'too_many');
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1));
    if (name === undefined || value === undefined) {
      fault ??= 'encoding';
      if (++malformed === MAX_MALFORMED_PAIRS) break;
    } else if (values.has(name)) fault ??= 'repeated';
    else values.set(name, value);
  }
  return finished(values, fault);
}

/** Decodes form encoding; undefined when it is malformed. */
export function decode(text: string): string | undefined {
  const plain = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!plain.includes('%')) return plain;
  try {
    return decodeURIComponent(plain);
  } catch {
    return undefined;
  }
}

/** A JSON object whose values are all strings. */
function parseJson(text: string): Parameters {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { values: NONE, fault: 'json' };
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return { values: NONE, fault: 'json' };
  const values = new Map<string, string>();
  let fault: ParameterFault | undefined;
  const entries = Object.entries(parsed);
  if (entries.length > MAX_PAIRS) return { values: NONE, fault: 'too_many' };
  for (const [name, value] of entries) {
    if (typeof value !== 'string') fault ??= 'not_a_string';
    else if (!value.isWellFormed()) fault ??= 'encoding';
    else values.set(name, value);
  }
  // JSON.parse keeps the last of two equal names. In an object of strings each name and each value is one string
  // literal, so more than two literals per name mean a repeated name.
  if (!fault && (text.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0) !== 2 * values.size) fault = 'repeated';
  return finished(values, fault);
}

function finished(values: Map<string, string>, fault: ParameterFault | undefined): Parameters {
  return fault ? { values, fault } : { values };
}

/** A parameter that is present and not empty (RFC 6749 3.1: sent without a value means omitted). */
export function param(parameters: ReadonlyMap<string, string>, name: string): string | undefined {
  return parameters.get(name) || undefined;
}
