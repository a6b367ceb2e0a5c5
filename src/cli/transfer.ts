import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, databaseUrlIsRight, isPostgres, readConfig } from '../config.ts';
import { loadSecret, secretExists, secretPath } from '../keys/secret-file.ts';
import { claimDatabase } from '../keys/secret-fingerprint.ts';
import { openStore } from '../store/store.ts';
import { TransferRefused, type TransferredTable, transfer } from '../store/transfer.ts';
import { inWords } from './database.ts';
import { addAction, CommandFailed, failOn, type Result, table } from './output.ts';
import { ProgressBar } from './progress.ts';

export function addTransferCommand(program: Command): void {
  const command = program
    .command('transfer')
    .description('move everything from SQLite to an empty PostgreSQL database')
    .option('--from <url>', 'sqlite:PATH; left out, the one in the data folder')
    .option('--to <url>', 'postgres://USER:PASSWORD@HOST:PORT/DATABASE; left out, POSTERN_DATABASE_URL')
    .addHelpText(
      'after',
      '\nStop the service first. All is copied and verified, or nothing; the SQLite file stays as it is.' +
        '\nTokens go on working when the service starts again with the same secret (docs/operations.md).',
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
  if (!isPostgres(to) || !databaseUrlIsRight(to))
    faults.push('--to must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, or POSTERN_DATABASE_URL be set.');
  failOn(faults, 'Nothing was transferred');

  await prepare(config, to);
  const tables = await copy(config, path, to);
  return {
    text: `${report(tables)}\n\n${nextSteps(config)}`,
    json: { tables: tables.map(({ table: name, rows, checksum }) => ({ table: name, rows, checksum })) },
  };
}

/** Both schemas current, and the source marked with the secret its tokens are sealed with. */
async function prepare(config: Config, to: string): Promise<void> {
  await withSchema(config, config.databaseUrl, async (store) => {
    const known = secretExists(config);
    if (known && !(await claimDatabase(store.secretFingerprint, loadSecret(config)))) {
      throw new CommandFailed(
        'Nothing was transferred: POSTERN_SECRET is not the one that the tokens of this database are sealed with.',
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
    throw inWords(error, config);
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
        `Nothing was transferred: ${error.message}. Give it a new database (createdb), used by nothing else.`,
      );
    }
    throw inWords(error, { ...config, databaseUrl: to });
  } finally {
    bar.clear();
  }
}

function report(tables: readonly TransferredTable[]): string {
  const rows = tables.map((one) => [one.table, one.rows.toLocaleString('en'), one.checksum]);
  return `Transferred and verified:\n${table([['TABLE', 'ROWS', 'CHECKSUM'], ...rows], '  ')}`;
}

function nextSteps(config: Config): string {
  const secret =
    config.secret === undefined ? `POSTERN_SECRET="$(cat ${secretPath(config)})"` : 'the same POSTERN_SECRET';
  return (
    `Start the service with POSTERN_DATABASE_URL set to the new database and ${secret}.\n` +
    'With another secret it does not start: the tokens issued so far would all be refused.'
  );
}
