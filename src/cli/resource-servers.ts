import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { newResourceServerSecret } from '../protocol/client-secret.ts';
import { nameFault } from '../protocol/name.ts';
import type { ResourceServer } from '../store/resource-servers.ts';
import { withStore } from './database.ts';
import {
  addAction,
  addGroup,
  CommandFailed,
  failOn,
  isoTime,
  listing,
  printable,
  type Result,
  readableTime,
  table,
} from './output.ts';

const SHOWN_ONCE = 'The secret is shown only once. Store it where the API keeps its secrets.';

export function addResourceServersCommands(program: Command): void {
  const group = addGroup(
    program,
    'resource-servers',
    "let the platform's own APIs check access tokens (docs/introspection.md)",
  );
  const create = group
    .command('create')
    .description('create an id and a secret with which an API can check access tokens')
    .requiredOption('--name <name>', 'a name to recognise it by')
    .addHelpText('after', '\nExample:\n  bin/postern resource-servers create --name "Photo API"');
  addAction(create, createResourceServer);

  addAction(group.command('list').description('list all resource servers'), listResourceServers);

  const remove = group
    .command('delete <id>')
    .description('refuse a resource server from now on; tokens are not affected');
  addAction(remove, deleteResourceServer);
}

function createResourceServer(options: { name: string }): Promise<Result> {
  return withStore(async ({ store, config }) => {
    const name = options.name.trim();
    failOn(
      [nameFault(name)].filter((fault) => fault !== undefined),
      'No resource server was created',
    );
    const id = `rs_${randomBytes(12).toString('hex')}`;
    const secret = newResourceServerSecret();
    const now = Date.now();
    await store.resourceServers.create({ id, name, secret, now });
    const credentials = table([
      ['id', id],
      ['secret', secret],
    ]);
    return {
      text: [`Created ${name}.`, credentials, SHOWN_ONCE, example(config.baseUrl, id)].join('\n\n'),
      json: { ...resourceServerJson({ id, name, secretTail: secret.slice(-4), createdAt: now }), secret },
    };
  });
}

const example = (baseUrl: string, id: string): string =>
  `It checks a token like this:\n  curl -u ${id}:SECRET -d token=ACCESS_TOKEN ${baseUrl}/oauth/introspect`;

function listResourceServers(): Promise<Result> {
  return withStore(async ({ store }) => {
    const all = await store.resourceServers.list();
    const rows = all.map(({ id, name, secretTail, createdAt }) => [
      id,
      name,
      `…${secretTail}`,
      readableTime(createdAt),
    ]);
    const whenEmpty =
      'There are no resource servers yet. Create one:\n  bin/postern resource-servers create --name "My API"';
    return {
      text: listing(['ID', 'NAME', 'SECRET', 'CREATED'], rows, whenEmpty),
      json: all.map(resourceServerJson),
    };
  });
}

const resourceServerJson = ({ id, name, secretTail, createdAt }: Omit<ResourceServer, 'secretHash'>) => ({
  id,
  name,
  secret_tail: secretTail,
  created_at: isoTime(createdAt),
});

function deleteResourceServer(id: string): Promise<Result> {
  return withStore(async ({ store }) => {
    const { name } = (await store.resourceServers.find(id)) ?? {};
    if (name === undefined || !(await store.resourceServers.delete(id))) {
      throw new CommandFailed(
        `There is no resource server ${printable(id)}. See all with: bin/postern resource-servers list`,
      );
    }
    return {
      text: `Deleted ${printable(name)}. It is refused from now on.`,
      json: { id, deleted: true },
    };
  });
}
