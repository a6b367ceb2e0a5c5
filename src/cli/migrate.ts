import type { Command } from 'commander';
import { withStore } from './database.ts';
import { addAction, type Result } from './output.ts';

export function addMigrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description('bring the database schema up to date')
    .addHelpText(
      'after',
      '\nEvery other command does this by itself; run it alone before an upgrade takes traffic.',
    );
  addAction(command, migrate);
}

function migrate(): Promise<Result> {
  return withStore(async ({ applied }) => ({
    text:
      applied.length === 0 ? 'The schema is current.' : applied.map((name) => `Applied ${name}.`).join('\n'),
    json: { applied },
  }));
}
