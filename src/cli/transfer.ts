import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, isDatabaseUrl, isPostgres, readConfig } from '../config.ts';
import { loadSecret, secretExists, secretPath } from '../keys/secret-file.ts';
import { claimDatabase } from '../keys/secret-fingerprint.ts';
import { openStore } from '../store/store.ts';
import { TransferRefused, type TransferredTable, transfer } from '../store/transfer.ts';
import { explainDatabaseError } from './database.ts';
import { addAction, CommandFailed, failOn, type Result, table } from './output.ts';
import { ProgressBar } from './progress.ts';

export function addTransferCommand(program: Command): void {
  const command = program
    .command('transfer')
    .description('move everything from SQLite to an empty PostgreSQL database')
    .option('--from <url>', 'sqlite:PATH; default: the database in the data folder')
    .option('--to <url>', 'postgres://USER:PASSWORD@HOST:PORT/DATABASE; default: POSTERN_DATABASE_URL')
    .addHelpText(
      'after',
      '\nStop the service first. Everything is copied and verified, or nothing is; the SQLite file is not changed.' +
        '\nTokens keep working if the service starts with the same secret (docs/operations.md).',
    );
  addAction(command, runTransfer);
}

type Options = { from?: string; to?: string };

async function runTransfer(options: Options): Promise<Result> {
  const to = options.to ?? process.env.POSTERN_DATABASE_URL ?? '';
  const { POSTERN_DATABASE_URL: _, ...env } = process.env;
  const config = readConfig(options.from ? { ...env, POSTERN_DATABASE_URL: options.from } : env);
  const from = config.databaseUrl;
  const path = resolve(from.slice('sqlite:'.length));
  const faults: string[] = [];
  if (!from.startsWith('sqlite:')) faults.push('--from must be sqlite:PATH.');
  else if (!existsSync(path)) faults.push(`There is no file ${path}.`);
  if (!isPostgres(to) || !isDatabaseUrl(to))
    faults.push('--to must be postgres://USER:PASSWORD@HOST:PORT/DATABASE; or set POSTERN_DATABASE_URL.');
  failOn(faults, 'Nothing was transferred');

  await prepare(config, to);
  const tables = await copy(config, path, to);
  return {
    text: `${report(tables)}\n\n${nextSteps(config)}`,
    json: { tables: tables.map(({ table: name, rows, checksum }) => ({ table: name, rows, checksum })) },
  };
}

/** Migrates both databases, and checks that the secret signed the tokens of the source. */
async function prepare(config: Config, to: string): Promise<void> {
  await withSchema(config, config.databaseUrl, async (store) => {
    if (secretExists(config) && !(await claimDatabase(store.secretFingerprint, loadSecret(config)))) {
      throw new CommandFailed(
        'Nothing was transferred: the tokens of this database were signed with another secret.',
      );
    }
  });
  await withSchema({ ...config, databaseUrl: to }, to, async () => {});
}

async function withSchema(
  config: Config,
  url: string,
  work: (store: ReturnType<typeof openStore>) => Promise<void>,
): Promise<void> {
  const store = openStore(url, { connections: 1 });
  try {
    await store.migrate();
    await work(store);
  } catch (error) {
    throw explainDatabaseError(error, config);
  } finally {
    await store.close();
  }
}

async function copy(config: Config, path: string, to: string): Promise<TransferredTable[]> {
  const bar = new ProgressBar();
  try {
    return await transfer(path, to, (step, name, rows, total) => bar.show(`${step} ${name}`, rows, total));
  } catch (error) {
    if (error instanceof TransferRefused) {
      throw new CommandFailed(
        `Nothing was transferred: ${error.message}. Use a new, empty database (createdb).`,
      );
    }
    throw explainDatabaseError(error, { ...config, databaseUrl: to });
  } finally {
    bar.clear();
  }
}

function report(tables: readonly TransferredTable[]): string {
  const rows = tables.map((copied) => [copied.table, copied.rows.toLocaleString('en'), copied.checksum]);
  return `Transferred and verified:\n${table([['TABLE', 'ROWS', 'CHECKSUM'], ...rows], '  ')}`;
}

function nextSteps(config: Config): string {
  const secret =
    config.secret === undefined ? `POSTERN_SECRET="$(cat ${secretPath(config)})"` : 'the same POSTERN_SECRET';
  return (
    `Start the service with POSTERN_DATABASE_URL set to the new database and ${secret}.\n` +
    'It does not start with another secret: all tokens issued so far would be refused.'
  );
}
