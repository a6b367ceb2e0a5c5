import type { BatchableStatement } from './batchable-statement.ts';

export type Value = string | number | null;
export type Row = Record<string, Value>;
/** A row as the values of its columns. */
export type RowArray = readonly Value[];
export type Statement = { readonly sql: string; readonly values: readonly Value[] };

/** A database, as the store uses it. SQL is the same for all engines, with `$1` parameters. */
export interface Driver {
  readonly engine: 'sqlite' | 'postgres';
  /** Runs a statement that changes nothing. */
  read(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /** Runs one statement, which is durable when the promise resolves. */
  write(sql: string, values?: readonly Value[]): Promise<Row[]>;
  /**
   * Runs a hot statement for one request, possibly in one batch with those of other requests. Returns the row, or
   * undefined when none met the conditions.
   */
  runBatched(statement: BatchableStatement, values: readonly Value[]): Promise<RowArray | undefined>;
  /** Runs several statements, all or none. */
  transaction(statements: readonly Statement[]): Promise<Row[][]>;
  /** A write of no consequence, to see whether the database accepts any. */
  readonly writeProbe: string;
  /** Applies the missing migrations and returns their names. */
  migrate(migrations: readonly Migration[]): Promise<string[]>;
  /** Statements that a change of `subject` adds to its transaction; none where the engine itself notifies others. */
  notifyStatements(subject: string): readonly Statement[];
  /** Calls `listener` when another process changed `subject`, or without one when it may have changed anything. */
  onExternalChange(listener: (subject?: string) => void): void;
  close(): Promise<void>;
}

export const HEARTBEAT = `
  INSERT INTO heartbeats (name, at) VALUES ('health', 1)
  ON CONFLICT (name) DO UPDATE SET at = heartbeats.at + 1`;

export type Migration = {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file. */
  readonly checksum: string;
};
