import type { Command } from 'commander';
import { isPostgres } from '../config.ts';
import { distribute, NoCitus } from '../store/citus.ts';
import { withStore } from './database.ts';
import { addAction, CommandFailed, type Result } from './output.ts';

export function addMigrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--citus', 'also distribute the tables over a Citus cluster (docs/scale.md)')
    .addHelpText(
      'after',
      '\nEvery other command does this automatically. Run it separately to migrate before an upgraded node starts.',
    );
  addAction(command, migrate);
}

function migrate({ citus }: { citus?: boolean }): Promise<Result> {
  return withStore(async ({ applied, config }) => {
    const distributed = citus ? await distributeTables(config.databaseUrl) : [];
    const lines = [
      ...applied.map((name) => `Applied ${name}.`),
      ...distributed.map((name) => `Distributed ${name}.`),
    ];
    const whenNone = citus ? 'The schema is up to date and distributed.' : 'The schema is up to date.';
    return {
      text: lines.length === 0 ? whenNone : lines.join('\n'),
      json: citus ? { applied, distributed } : { applied },
    };
  });
}

async function distributeTables(url: string): Promise<string[]> {
  if (!isPostgres(url)) throw new CommandFailed('--citus needs a postgres:// database with Citus.');
  try {
    return await distribute(url);
  } catch (error) {
    if (!(error instanceof NoCitus)) throw error;
    throw new CommandFailed(
      'Citus is not installed in this database. On the coordinator and on every worker: CREATE EXTENSION citus;',
    );
  }
}
