import { parseBody } from '../protocol/parameters.ts';
import type { HttpRequest } from './request.ts';

/** The fields of a posted form; a malformed one has none, and so no valid token either. */
export function formOf(request: HttpRequest): ReadonlyMap<string, string> {
  const { values, fault } = parseBody(request.headers['content-type'], request.body);
  return fault ? new Map() : values;
}
