import { DatabaseUnavailable, DuplicateKey, OutcomeUnknown } from '../errors.ts';

/** Result codes of SQLite (sqlite.org/rescode.html). The low byte is the primary code. */
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_IOERR = 10;
/**
 * After these nothing was changed and a retry may succeed: NOMEM, READONLY, INTERRUPT, CORRUPT, FULL, CANTOPEN, PROTOCOL
 * and NOTADB besides those above. Others, such as a wrong statement, are faults of this program.
 */
const UNAVAILABLE = new Set([SQLITE_BUSY, SQLITE_LOCKED, 7, 8, 9, SQLITE_IOERR, 11, 13, 14, 15, 26]);
/** SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE and _ROWID. */
const DUPLICATE_CODES = new Set([1555, 2067, 2579]);

export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** Turns an error of SQLite into one of driver.ts; returns any other error unchanged. */
export function translate(error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  if (DUPLICATE_CODES.has(code)) return new DuplicateKey('duplicate key', { cause: error });
  return UNAVAILABLE.has(code & 0xff)
    ? new DatabaseUnavailable('the database failed', { cause: error })
    : error;
}

/** A commit that failed on the disk: it may be found in the write-ahead log after a crash. */
export const commitFailure = (error: unknown): unknown =>
  primaryCode(error) === SQLITE_IOERR
    ? new OutcomeUnknown('the commit failed on the disk', { cause: error })
    : error;

const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error ? (error.errcode as number) : undefined;

function primaryCode(error: unknown): number | undefined {
  const code = codeOf(error);
  return code === undefined ? undefined : code & 0xff;
}
