import type { FastifyRequest } from 'fastify';
import { parseBody, parseForm } from './protocol/parameters.ts';

export function queryOf(request: FastifyRequest): ReadonlyMap<string, string> {
  const mark = request.url.indexOf('?');
  return mark < 0 ? new Map() : parseForm(request.url.slice(mark + 1)).values;
}

/** The fields of a posted form; a malformed one has none, and so no valid token either. */
export function formOf(request: FastifyRequest): ReadonlyMap<string, string> {
  const { values, fault } = parseBody(
    request.headers['content-type'],
    (request.body as Buffer | undefined) ?? Buffer.alloc(0),
  );
  return fault ? new Map() : values;
}
