import type { Driver } from './driver.ts';

type Operation = 'read' | 'write' | 'transaction';
/** Called before an operation; returns the function to call after it. */
export type Observe = (operation: Operation) => (failed: boolean) => void;

/** A driver that reports how long each operation takes. Used only when metrics or traces are on. */
export function observedDriver(driver: Driver, observe: Observe): Driver {
  const observed = async <T>(operation: Operation, run: () => Promise<T>): Promise<T> => {
    const end = observe(operation);
    let failed = true;
    try {
      const result = await run();
      failed = false;
      return result;
    } finally {
      end(failed);
    }
  };
  return {
    engine: driver.engine,
    notifyStatements: (subject) => driver.notifyStatements(subject),
    get writeProbe() {
      return driver.writeProbe;
    },
    read: (sql, values) => observed('read', () => driver.read(sql, values)),
    write: (sql, values) => observed('write', () => driver.write(sql, values)),
    runBatched: (statement, values) =>
      observed(statement.changes ? 'write' : 'read', () => driver.runBatched(statement, values)),
    transaction: (statements) => observed('transaction', () => driver.transaction(statements)),
    migrate: (migrations) => driver.migrate(migrations),
    onExternalChange: (listener) => driver.onExternalChange(listener),
    close: () => driver.close(),
  };
}
