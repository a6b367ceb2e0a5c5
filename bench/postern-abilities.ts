import { existsSync } from 'node:fs';

/** Whether this tree's Postern speaks PostgreSQL. */
export const supportsPostgres = (): boolean =>
  existsSync(new URL('../src/store/postgres.ts', import.meta.url));
