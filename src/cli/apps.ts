import type { Command } from 'commander';
import { isPlayground } from '../protocol/application.ts';
import { formatScope } from '../protocol/scope.ts';
import { applicationJson, applicationText, statusOf } from './application-output.ts';
import { addCreateCommand } from './apps-create.ts';
import { addRotateSecretCommand } from './apps-secrets.ts';
import { withStore } from './database.ts';
import { ownerEmail, requireApplication, unknownApplication } from './find-application.ts';
import {
  addAction,
  addGroup,
  CommandFailed,
  listing,
  printable,
  type Result,
  readableTime,
} from './output.ts';
import { askLine } from './terminal-input.ts';

export function addAppsCommands(program: Command): void {
  const apps = addGroup(program, 'apps', 'register, list and change applications');
  addCreateCommand(apps);

  addAction(apps.command('list').description('list all applications'), listApplications);

  addAction(
    apps.command('show <client_id>').description('show the details of an application'),
    showApplication,
  );

  const disable = apps
    .command('disable <client_id>')
    .description('refuse all requests and tokens of an application');
  addAction(disable, (clientId: string) => setDisabled(clientId, true));

  const enable = apps.command('enable <client_id>').description('let a disabled application work again');
  addAction(enable, (clientId: string) => setDisabled(clientId, false));

  addRotateSecretCommand(apps);

  const remove = apps
    .command('delete <client_id>')
    .description('delete an application permanently; its users lose their connection')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', '\nTo stop it for a while: bin/postern apps disable <client_id> can be undone.');
  addAction(remove, deleteApplication);
}

function listApplications(): Promise<Result> {
  return withStore(async ({ store }) => {
    const applications = await store.applications.list();
    const emails = new Map((await store.users.list()).map(({ id, email }) => [id, email]));
    const rows = applications.map((application) => [
      application.clientId,
      application.name,
      emails.get(application.ownerId) ?? '',
      formatScope(application.scope),
      statusOf(application),
      readableTime(application.createdAt),
    ]);
    const whenEmpty =
      'There are no applications yet. Create one:\n' +
      '  bin/postern apps create --name "My App" --owner you@example.com --redirect-uri https://app.example/callback';
    return {
      text: listing(['CLIENT ID', 'NAME', 'OWNER', 'SCOPE', 'STATUS', 'CREATED'], rows, whenEmpty),
      json: applications.map((application) => applicationJson(application, emails.get(application.ownerId))),
    };
  });
}

function showApplication(clientId: string): Promise<Result> {
  return withStore(async ({ store }) => {
    const application = await requireApplication(store, clientId);
    const owner = await ownerEmail(store, application);
    return {
      text: applicationText(application, owner, Date.now()),
      json: applicationJson(application, owner),
    };
  });
}

function setDisabled(clientId: string, disabled: boolean): Promise<Result> {
  return withStore(async ({ store }) => {
    const application = await requireApplication(store, clientId);
    const owner = await ownerEmail(store, application);
    const name = printable(application.name);
    const state = disabled ? 'disabled' : 'enabled';
    // The operator can disable what its owner disabled: from then on the owner cannot enable it.
    const already = disabled ? application.disabledBy === 'operator' : application.disabledAt === null;
    if (already) {
      return { text: `${name} is already ${state}.`, json: applicationJson(application, owner) };
    }
    await store.applications.setDisabled(clientId, disabled, Date.now());
    const effect = disabled
      ? ` All its requests and tokens are refused.\nTo undo it: bin/postern apps enable ${clientId}`
      : ' It works again.';
    return {
      text: `${name} is ${state}.${effect}`,
      json: applicationJson(await requireApplication(store, clientId), owner),
    };
  });
}

function deleteApplication(clientId: string, { yes }: { yes?: boolean }): Promise<Result> {
  return withStore(async ({ store }) => {
    const application = await requireApplication(store, clientId);
    const name = printable(application.name);
    if (isPlayground(clientId)) throw new CommandFailed(PLAYGROUND_STAYS);
    if (!yes) await confirmDeletion(name);
    if (!(await store.applications.delete(clientId))) throw unknownApplication(clientId);
    return {
      text: `Deleted ${name}. Its tokens no longer work.`,
      json: { client_id: clientId, deleted: true },
    };
  });
}

const PLAYGROUND_STAYS =
  'This is the playground application of its owner, who would get it back with the same client_id. ' +
  'Disable it instead: bin/postern apps disable <client_id>';

async function confirmDeletion(name: string): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new CommandFailed(
      `${name} was not deleted: there is no terminal to ask for confirmation. To go ahead, add --yes.`,
    );
  }
  process.stderr.write(
    `This deletes ${name} permanently. Its users would have to connect a new application.\n`,
  );
  if ((await askLine('Type its name to continue: ')) !== name.trim())
    throw new CommandFailed(`${name} was not deleted.`);
}
