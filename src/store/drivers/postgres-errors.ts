import pg from 'pg';
import { DatabaseUnavailable, DuplicateKey, OutcomeUnknown, StatementRefused } from '../errors.ts';

/**
 * SQLSTATEs (postgresql.org/docs/current/errcodes-appendix.html) after which nothing was changed and a retry may
 * succeed. REFUSED: lock timeout, serialization failure, deadlock. UNAVAILABLE: statement timeout (57014), out of
 * resources, a server that is read-only, starting, stopping or not to be logged in to.
 */
const REFUSED = /^(55P03|40001|40P01)/;
const UNAVAILABLE = /^(57014|53|25006|58|08|57P|28|3D)/;
const UNIQUE_VIOLATION = '23505';
const INTERNAL_ERROR = 'XX000';
/** statement_completion_unknown: the server itself does not know. */
const COMPLETION_UNKNOWN = '40003';

/** Turns an error of PostgreSQL or of the network into one of driver.ts; returns any other error unchanged. */
export function translate(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable || error instanceof OutcomeUnknown || !(error instanceof Error))
    return error;
  const code = codeOf(error);
  if (isDuplicateKey(code, error)) return new DuplicateKey('duplicate key', { cause: error });
  if (code === COMPLETION_UNKNOWN)
    return new OutcomeUnknown('the database does not know the outcome', { cause: error });
  if (REFUSED.test(code)) return new StatementRefused('the statement was undone', { cause: error });
  const unavailable = error instanceof pg.DatabaseError ? UNAVAILABLE.test(code) : 'syscall' in error;
  return unavailable ? new DatabaseUnavailable('the database failed', { cause: error }) : error;
}

/** Citus reports what a worker refused during INSERT … SELECT as an internal error, with the worker's message. */
const isDuplicateKey = (code: string, { message }: Error): boolean =>
  code === UNIQUE_VIOLATION ||
  (code === INTERNAL_ERROR && message.startsWith('duplicate key value violates unique constraint'));

/** An SQLSTATE, as opposed to a code of the system such as EPIPE, which has five letters too. */
const SQLSTATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

/** The server ended the session (25P03, 57P01 to 57P05), or the network did. */
export function isSessionEnd(error: Error): boolean {
  const code = codeOf(error);
  return !SQLSTATE.test(code) || /^(25P03|57P0[1-5])/.test(code);
}

/**
 * The response of the server that ran the statement was lost. In class 08 that is a worker of a Citus cluster, and this
 * session goes on.
 */
export const isLostResponse = (error: Error): boolean =>
  isSessionEnd(error) || codeOf(error).startsWith('08');

export const isReadOnly = (error: Error): boolean => codeOf(error) === '25006';

export const isStalePlan = (error: Error): boolean =>
  codeOf(error) === '26000' || (codeOf(error) === '0A000' && /cached plan/.test(error.message));

/** A wrong password or database name does not mend itself while a request waits. */
export const isLoginRefused = (error: Error): boolean => /^(28|3D)/.test(codeOf(error));

const codeOf = (error: Error): string => String((error as Error & { code?: unknown }).code ?? '');
