/**
 * A hot step of the protocol: one statement on one row, which it finds by its key. Written once, for one
 * request, with `$1` parameters; from that follows the statement that takes the same step for many requests
 * at once, each with its own row of parameters. Each request is answered by its place among them, never by a
 * key: of two that present the same credential at most one has a row in the answer.
 */
export type BatchableStatement = {
  /** Whether it changes anything; if not, it may be sent again when its answer was lost. */
  readonly changes: boolean;
  /** Of `$1`, `$2` and so on. The first two, or the first alone, are the key. */
  readonly types: readonly ('text' | 'integer' | 'bigint')[];
  readonly single: string;
  /** PostgreSQL. Its parameters are arrays; the first column of its answer is the place, counted from 1. */
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
    batch: `UPDATE ${table} SET ${ofRequest(set)} FROM ${requests(types)} WHERE ${ofRequest(where)}
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
    batch: `SELECT request.request_index, ${ofRequest(select)} FROM ${requests(types)}, ${from} WHERE ${ofRequest(where)}`,
  };
}

const requests = (types: Types): string =>
  `unnest(${types.map((type, i) => `$${i + 1}::${type}[]`).join(', ')})
    WITH ORDINALITY AS request(${types.map((_, i) => `p${i + 1}`).join(', ')}, request_index)`;

const ofRequest = (sql: string): string => sql.replaceAll(/\$(\d+)/g, 'request.p$1');
