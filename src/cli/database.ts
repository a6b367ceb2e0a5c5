import { mkdirSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { type Config, readConfig } from '../config.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../store/errors.ts';
import { SchemaMismatch } from '../store/migrations.ts';
import { openStore, type Store } from '../store/store.ts';
import { CommandFailed } from './output.ts';

export type OpenedStore = {
  readonly store: Store;
  readonly config: Config;
  /** Names of the migrations that opening it applied. */
  readonly applied: readonly string[];
};

/** Opens the configured database, migrates it, and runs `work`. A running server may use it at the same time. */
export async function withStore<T>(work: (opened: OpenedStore) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  let store: Store | undefined;
  try {
    createDataFolder(config);
    store = openStore(config.databaseUrl, { connections: config.databaseConnections });
    const applied = await store.migrate();
    return await work({ store, config, applied });
  } catch (error) {
    throw explainDatabaseError(error, config);
  } finally {
    await store?.close();
  }
}

export const sqlitePath = ({ databaseUrl }: Config): string | undefined =>
  databaseUrl.startsWith('sqlite:') ? resolve(databaseUrl.slice('sqlite:'.length)) : undefined;

/** Only Postern's own data folder: a mistyped path must not create another one. */
function createDataFolder(config: Config): void {
  const path = sqlitePath(config);
  if (path === undefined || relative(config.dataDir, path).startsWith('..')) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
}

/** By SQLite's primary result code (sqlite.org/rescode.html). */
const SQLITE_ADVICE: Readonly<Record<number, string>> = {
  5: 'It is locked by another process: try again in a moment.',
  6: 'It is locked by another process: try again in a moment.',
  8: 'This account has no permission to write to it.',
  11: 'The file is damaged: restore it from a backup.',
  13: 'The disk is full.',
  14: 'Check that its folder exists and that this account can write to it.',
  26: 'Check POSTERN_DATABASE_URL and POSTERN_DATA_DIR.',
};

/** By PostgreSQL's SQLSTATE or the operating system's error code. */
const ADVICE_BY_CODE: Readonly<Record<string, string>> = {
  '28P01': 'Check the user and password in POSTERN_DATABASE_URL.',
  '28000': 'The server rejects this user from this host: see its pg_hba.conf.',
  '3D000': 'Create it first, with: createdb NAME',
  '42501': 'Its user lacks the privilege: make it the owner of the database.',
  '53300': "Raise the server's max_connections, or lower POSTERN_DATABASE_CONNECTIONS.",
  ECONNREFUSED: 'Check that the server is running and listening there.',
  ENOTFOUND: 'Check the host in POSTERN_DATABASE_URL.',
};

/** Turns an error of the database or file system into a message with advice; returns any other error unchanged. */
export function explainDatabaseError(error: unknown, config: Config): unknown {
  if (error instanceof SchemaMismatch) return new CommandFailed(error.message, { cause: error });
  const causes = causesOf(error);
  const rootCause =
    causes.find((cause) => 'errcode' in cause || 'severity' in cause || 'syscall' in cause) ??
    causes.find((cause) => cause instanceof DatabaseUnavailable || cause instanceof OutcomeUnknown);
  if (!rootCause) return error;
  const { errcode, code } = rootCause as Error & { errcode?: number; code?: string };
  const systemAdvice = sqlitePath(config) === undefined ? undefined : 'Check POSTERN_DATA_DIR.';
  const advice =
    errcode === undefined ? (ADVICE_BY_CODE[code ?? ''] ?? systemAdvice) : SQLITE_ADVICE[errcode & 0xff];
  const location = sqlitePath(config) ?? 'behind POSTERN_DATABASE_URL';
  const chain = causes.slice(0, causes.indexOf(rootCause) + 1).map(({ message }) => message);
  const message = `The database ${location} cannot be used: ${chain.join(': ')}.`;
  return new CommandFailed(advice ? `${message} ${advice}` : message, { cause: error });
}

function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}
