import { parseBody, parseForm } from '../protocol/parameters.ts';
import type { HttpRequest } from './request.ts';

export function queryOf(request: HttpRequest): ReadonlyMap<string, string> {
  const mark = request.url.indexOf('?');
  return mark < 0 ? new Map() : parseForm(request.url.slice(mark + 1)).values;
}

/** The fields of a posted form; a malformed one has none, and so no valid token either. */
export function formOf(request: HttpRequest): ReadonlyMap<string, string> {
  const { values, fault } = parseBody(request.headers['content-type'], request.body);
  return fault ? new Map() : values;
}
