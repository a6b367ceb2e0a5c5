import { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { addAppsCommands } from './apps.ts';
import { addDoctorCommand } from './doctor.ts';
import { addKeysCommands } from './keys.ts';
import { addMigrateCommand } from './migrate.ts';
import { CommandFailed } from './output.ts';
import { addResourceServersCommands } from './resource-servers.ts';
import { addRestoredCommand } from './restored.ts';
import { addServeCommand } from './serve.ts';
import { addTransferCommand } from './transfer.ts';
import { addUsersCommands } from './users.ts';

// Whatever Postern writes (the database, its key) is for its own account alone.
process.umask(0o077);

const program = new Command('postern')
  .description('An OAuth 2.0 authorization service.')
  .helpCommand(false)
  .showHelpAfterError('(add --help for the options)')
  .addHelpText('after', '\nSettings come from the environment (POSTERN_…): see docs/settings.md.');

addServeCommand(program);
addMigrateCommand(program);
addUsersCommands(program);
addAppsCommands(program);
addKeysCommands(program);
addTransferCommand(program);
addRestoredCommand(program);
addDoctorCommand(program);
addResourceServersCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommandFailed || error instanceof ConfigError)
    console.error(`postern: ${error.message}`);
  else console.error(error);
  process.exitCode = 1;
}
