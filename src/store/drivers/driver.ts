import type { BatchableStatement } from './batchable-statement.ts';

/** What the store asks of a database. SQL is written once, with `$1` parameters; a driver makes it its engine's. */
export type Value = string | number | null;
export type Row = Record<string, Value>;
/** A row as the values of its columns. */
export type RowArray = readonly Value[];
export type Statement = { readonly sql: string; readonly values: readonly Value[] };

export interface Driver {
  readonly engine: 'sqlite' | 'postgres';
  /** A statement that changes nothing. */
  read(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /** One statement, durable when the promise resolves. */
  write(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /**
   * One step for one request, as `read` or `write`; those of many requests go to the database together.
   * Returns the columns of its row, undefined where no row met its conditions.
   */
  runBatched(step: BatchableStatement, values: readonly Value[]): Promise<RowArray | undefined>;
  /** Several statements, all or none. */
  transaction(statements: readonly Statement[]): Promise<Row[][]>;
  /** Applies what is missing and returns the names of what was applied. */
  migrate(migrations: readonly Migration[]): Promise<string[]>;
  /** What a change appends so that other processes hear of it, where the engine needs to be told. */
  readonly notifyStatements: readonly Statement[];
  /** Tells when another process may have changed the database. */
  onExternalChange(listener: () => void): void;
  close(): Promise<void>;
}

export type Migration = {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file. */
  readonly checksum: string;
};

/** The database cannot be used now: gone, locked or overloaded. Nothing was changed, and a retry may succeed. */
export class DatabaseUnavailable extends Error {
  override readonly name: string = 'DatabaseUnavailable';
}

/** The database works, but this statement took too long or stood in the way of others, and was undone. */
export class StatementRefused extends DatabaseUnavailable {
  override readonly name = 'StatementRefused';
}

/**
 * The connection died after the statement was sent: it may have taken effect or not. Never sent again
 * by itself. A client that tries again is safe: what took effect is then refused as used already.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** A row with this key is there already. */
export class DuplicateKey extends Error {
  override readonly name = 'DuplicateKey';
}
