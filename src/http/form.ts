import { parseBody } from '../protocol/parameters.ts';
import type { HttpRequest } from './request.ts';

/** The fields of a posted form. A malformed form has none, and so fails the check of its CSRF token. */
export function formOf(request: HttpRequest): ReadonlyMap<string, string> {
  const { values, fault } = parseBody(request.headers['content-type'], request.body);
  return fault ? new Map() : values;
}
