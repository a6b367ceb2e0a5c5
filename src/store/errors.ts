/** Failures of the database that callers tell apart. Anything else is a defect. */

/** The database cannot be used now: gone, locked, overloaded or too slow. Nothing was changed; a retry may succeed. */
export class DatabaseUnavailable extends Error {
  override readonly name: string = 'DatabaseUnavailable';
}

/** The database works, but this statement was undone: it waited too long for a lock or was part of a deadlock. */
export class StatementRefused extends DatabaseUnavailable {
  override readonly name = 'StatementRefused';
}

/**
 * The connection died after the statement was sent: it may have taken effect or not. It is never sent again
 * automatically. A client may try again: if it took effect, the credential is then refused as already used.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** A row with this key exists already. */
export class DuplicateKey extends Error {
  override readonly name = 'DuplicateKey';
}
