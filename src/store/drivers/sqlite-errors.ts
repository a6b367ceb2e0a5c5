import { DatabaseUnavailable, DuplicateKey } from './driver.ts';

/** Result codes of SQLite (sqlite.org/rescode.html). The low byte is the primary code. */
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CONSTRAINT = 19;
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
  if (primaryCode(error) !== SQLITE_CONSTRAINT)
    return new DatabaseUnavailable('the database failed', { cause: error });
  return DUPLICATE_CODES.has(code) ? new DuplicateKey('duplicate key', { cause: error }) : error;
}

const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error ? (error.errcode as number) : undefined;

function primaryCode(error: unknown): number | undefined {
  const code = codeOf(error);
  return code === undefined ? undefined : code & 0xff;
}
