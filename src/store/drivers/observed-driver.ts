import type { BatchableStatement } from './batchable-statement.ts';
import type { Driver, Row, RowArray, Statement, Value } from './driver.ts';

export type Operation = 'read' | 'write' | 'transaction';
/** Called before an operation; what it returns is called after it. */
export type Observe = (operation: Operation) => (failed: boolean) => void;

/** A driver that tells how long each operation took. Put in place only when somebody listens. */
export function observedDriver(driver: Driver, observe: Observe): Driver {
  const timed = async <T>(operation: Operation, work: () => Promise<T>): Promise<T> => {
    const ended = observe(operation);
    let failed = true;
    try {
      const result = await work();
      failed = false;
      return result;
    } finally {
      ended(failed);
    }
  };
  return {
    engine: driver.engine,
    notifyStatements: driver.notifyStatements,
    read: (sql: string, values?: readonly Value[]): Promise<Row[]> =>
      timed('read', () => driver.read(sql, values)),
    write: (sql: string, values?: readonly Value[]): Promise<Row[]> =>
      timed('write', () => driver.write(sql, values)),
    runBatched: (step: BatchableStatement, values: readonly Value[]): Promise<RowArray | undefined> =>
      timed(step.changes ? 'write' : 'read', () => driver.runBatched(step, values)),
    transaction: (statements: readonly Statement[]): Promise<Row[][]> =>
      timed('transaction', () => driver.transaction(statements)),
    migrate: (migrations) => driver.migrate(migrations),
    onExternalChange: (listener) => driver.onExternalChange(listener),
    close: () => driver.close(),
  };
}
