import { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { CommandFailed } from './output.ts';

// Files that Postern writes (the database, its secret) are readable by its own account only.
process.umask(0o077);

const program = new Command('postern')
  .description('An OAuth 2.0 authorization service.')
  .helpCommand(false)
  .showHelpAfterError('(add --help for the options)')
  .addHelpText('after', '\nSettings come from the environment (POSTERN_…): see docs/settings.md.');

type AddCommands = (program: Command) => void;

/** In the order of the help. Only the requested command is loaded, so that the service starts faster. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommands>>> = {
  serve: async () => (await import('./serve.ts')).addServeCommand,
  migrate: async () => (await import('./migrate.ts')).addMigrateCommand,
  users: async () => (await import('./users.ts')).addUsersCommands,
  apps: async () => (await import('./apps.ts')).addAppsCommands,
  'resource-servers': async () => (await import('./resource-servers.ts')).addResourceServersCommands,
  keys: async () => (await import('./keys.ts')).addKeysCommands,
  transfer: async () => (await import('./transfer.ts')).addTransferCommand,
  restored: async () => (await import('./restored.ts')).addRestoredCommand,
  'confirm-clock': async () => (await import('./confirm-clock.ts')).addConfirmClockCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
};

const requested = COMMANDS[process.argv[2] ?? ''];
for (const load of requested ? [requested] : Object.values(COMMANDS)) (await load())(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommandFailed || error instanceof ConfigError)
    console.error(`postern: ${error.message}`);
  else console.error(error);
  process.exitCode = 1;
}
