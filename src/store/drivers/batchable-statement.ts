/**
 * A hot statement on one row, which it finds by its key. It is written once, for one request, with `$1` parameters;
 * from that follows the statement that does the same for many requests at once. Requests are matched with their rows
 * by index, never by key: of two requests that present the same credential, at most one gets a row.
 */
export type BatchableStatement = {
  /** Whether it changes anything. If not, it may be sent again when its response was lost. */
  readonly changes: boolean;
  /** Types of `$1`, `$2` and so on. The first two, or the first alone, are the key. */
  readonly types: readonly ('text' | 'integer' | 'bigint')[];
  readonly single: string;
  /** For PostgreSQL. Its parameters are arrays; its first column is the index of the request, counted from 1. */
  readonly batch: string;
};

type Types = BatchableStatement['types'];

export function batchableUpdate(
  types: Types,
  parts: { table: string; set: string; where: string; returning: string },
): BatchableStatement {
  const { table, set, where, returning } = parts;
  return {
    changes: true,
    types,
    single: `UPDATE ${table} SET ${set} WHERE ${where} RETURNING ${returning}`,
    batch: `UPDATE ${table} SET ${perRequest(set)} FROM ${requests(types)} WHERE ${perRequest(where)}
      RETURNING request.request_index, ${returning}`,
  };
}

export function batchableSelect(
  types: Types,
  parts: { select: string; from: string; where: string },
): BatchableStatement {
  const { select, from, where } = parts;
  return {
    changes: false,
    types,
    single: `SELECT ${select} FROM ${from} WHERE ${where}`,
    batch: `SELECT request.request_index, ${perRequest(select)} FROM ${requests(types)}, ${from} WHERE ${perRequest(where)}`,
  };
}

/** The arrays of parameters as a table with a row per request. */
const requests = (types: Types): string =>
  `unnest(${types.map((type, i) => `$${i + 1}::${type}[]`).join(', ')})
    WITH ORDINALITY AS request(${types.map((_, i) => `p${i + 1}`).join(', ')}, request_index)`;

const perRequest = (sql: string): string => sql.replaceAll(/\$(\d+)/g, 'request.p$1');
