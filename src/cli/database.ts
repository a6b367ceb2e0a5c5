import { mkdirSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { type Config, readConfig } from '../config.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../store/drivers/driver.ts';
import { openStore, type Store } from '../store/store.ts';
import { CommandFailed } from './output.ts';

export type Opened = {
  readonly store: Store;
  readonly config: Config;
  /** Names of the migrations that were applied on opening. */
  readonly applied: readonly string[];
};

/** Runs `work` on the database of the settings, its schema current. A running server may use it at the same time. */
export async function withStore<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  let store: Store | undefined;
  try {
    makeDataFolder(config);
    store = openStore(config.databaseUrl, { connections: config.databaseConnections });
    const applied = await store.migrate();
    return await work({ store, config, applied });
  } catch (error) {
    throw inWords(error, config);
  } finally {
    await store?.close();
  }
}

export const sqlitePath = ({ databaseUrl }: Config): string | undefined =>
  databaseUrl.startsWith('sqlite:') ? resolve(databaseUrl.slice('sqlite:'.length)) : undefined;

/** Postern's own folder is made on first use. Any other is the operator's: a typing error must not make one. */
function makeDataFolder(config: Config): void {
  const path = sqlitePath(config);
  if (path === undefined || relative(config.dataDir, path).startsWith('..')) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
}

/** By the primary result code of SQLite (sqlite.org/rescode.html). */
const ADVICE: Readonly<Record<number, string>> = {
  5: 'Another process holds it locked: try again in a moment.',
  6: 'Another process holds it locked: try again in a moment.',
  8: 'This account may not write to it.',
  11: 'The file is damaged: restore it from a backup.',
  13: 'The disk is full.',
  14: 'Check that its folder exists and that this account may write there.',
  26: 'That file is something else: see POSTERN_DATABASE_URL and POSTERN_DATA_DIR.',
};

/** By SQLSTATE (PostgreSQL) or the code of the system. */
const ADVICE_BY_CODE: Readonly<Record<string, string>> = {
  '28P01': 'Check the user and the password in POSTERN_DATABASE_URL.',
  '28000': 'The server does not let this user in from here: see its pg_hba.conf.',
  '3D000': 'Create it first, with: createdb NAME',
  '42501': 'Its user may not do this: make it the owner of the database.',
  '53300': 'Raise max_connections of the server, or lower POSTERN_DATABASE_CONNECTIONS.',
  ECONNREFUSED: 'Check that the server runs and listens there.',
  ENOTFOUND: 'Check the host in POSTERN_DATABASE_URL.',
};

/** What the database or the file system says, with what to do about it; any other error stays as it is. */
export function inWords(error: unknown, config: Config): unknown {
  const causes = causesOf(error);
  const cause =
    causes.find((one) => 'errcode' in one || 'severity' in one || 'syscall' in one) ??
    causes.find((one) => one instanceof DatabaseUnavailable || one instanceof OutcomeUnknown);
  if (!cause) return error;
  const { errcode, code } = cause as Error & { errcode?: number; code?: string };
  const ofSystem = sqlitePath(config) === undefined ? undefined : 'Check POSTERN_DATA_DIR.';
  const advice = errcode === undefined ? (ADVICE_BY_CODE[code ?? ''] ?? ofSystem) : ADVICE[errcode & 0xff];
  const location = sqlitePath(config) ?? 'behind POSTERN_DATABASE_URL';
  const chain = causes.slice(0, causes.indexOf(cause) + 1).map(({ message }) => message);
  const message = `The database ${location} cannot be used: ${chain.join(': ')}.`;
  return new CommandFailed(advice ? `${message} ${advice}` : message, { cause: error });
}

function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}
