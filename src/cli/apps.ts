import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import type { Config } from '../config.ts';
import {
  exampleAuthorizeUrl,
  newClientId,
  redirectUriCountFault,
  redirectUriFaultInWords,
} from '../protocol/application.ts';
import { newClientSecret } from '../protocol/client-secret.ts';
import { nameFault } from '../protocol/name.ts';
import {
  formatScope,
  includes,
  NO_SCOPE,
  parseScope,
  SCOPE_NAMES,
  type ScopeSet,
} from '../protocol/scope.ts';
import type { ApplicationSecret } from '../store/application-secrets.ts';
import type { Application } from '../store/applications.ts';
import type { Store } from '../store/store.ts';
import { withStore } from './database.ts';
import { DAY, parseOverlap } from './duration-option.ts';
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
import { unknownUser } from './users.ts';

const SHOWN_ONCE =
  'The secret is shown this once and cannot be read again: put it where the application keeps its secrets.';

export function addAppsCommands(program: Command): void {
  const apps = addGroup(program, 'apps', 'register, list and change applications');
  addCreateCommand(apps);

  addAction(apps.command('list').description('list all applications'), listApplications);

  addAction(apps.command('show <client_id>').description('show all of one application'), show);

  const disable = apps
    .command('disable <client_id>')
    .description('refuse everything an application asks, and all of its tokens');
  addAction(disable, (clientId: string) => setDisabled(clientId, true));

  const enable = apps.command('enable <client_id>').description('let a disabled application work again');
  addAction(enable, (clientId: string) => setDisabled(clientId, false));

  const overlap = new Option(
    '--overlap <time>',
    'how long earlier secrets still work: 0, 30m, 24h, 7d; at most 30d',
  );
  const rotate = apps
    .command('rotate-secret <client_id>')
    .description('print a new client_secret; earlier ones end after the overlap')
    .addOption(overlap.default(DAY, '24h').argParser(parseOverlap))
    .addHelpText(
      'after',
      '\nExample, for a secret that leaked:\n  bin/postern apps rotate-secret app_… --overlap 0',
    );
  addAction(rotate, rotateSecret);

  const remove = apps
    .command('delete <client_id>')
    .description('delete an application for good; its users have to connect a new one')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nOnly for a while? bin/postern apps disable <client_id> can be undone.');
  addAction(remove, deleteApplication);
}

function addCreateCommand(apps: Command): void {
  const create = apps
    .command('create')
    .description('register an application and print its client_id and client_secret')
    .requiredOption('--name <name>', 'the name users read when they are asked for consent')
    .requiredOption('--owner <email>', 'the user it belongs to')
    .requiredOption('--redirect-uri <uri>', 'where users are sent back to; repeat it for several', collected)
    .option('--scope <scope>', 'every scope it may ask for, separated by spaces', 'profile email')
    .option('--optional-scope <scope>', 'those among them that the user may leave out')
    .addHelpText(
      'after',
      '\nExample:\n  bin/postern apps create --name "Photo Wall" --owner ada@example.com \\\n' +
        '    --redirect-uri https://photos.example/callback --scope "profile email" --optional-scope email',
    );
  addAction(create, createApplication);
}

type CreateOptions = {
  name: string;
  owner: string;
  redirectUri: string[];
  scope: string;
  optionalScope?: string;
};

function createApplication(options: CreateOptions): Promise<Result> {
  return withStore(async ({ store, config }) => {
    const owner = await store.users.findByEmail(options.owner);
    const name = options.name.trim();
    const redirectUris = [...new Set(options.redirectUri)];
    const { scope, optionalScope, faults: scopeFaults } = parseScopes(options);
    const faults = [nameFault(name), ...redirectUriFaults(redirectUris), ...scopeFaults].filter(
      (fault) => fault !== undefined,
    );
    if (!owner) faults.push(unknownUser(options.owner).message);
    failOn(faults, 'No application was created');

    const clientId = newClientId();
    const secret = newClientSecret();
    const ownerId = owner!.id;
    await store.applications.create({
      clientId,
      ownerId,
      name,
      redirectUris,
      scope,
      optionalScope,
      secret,
      now: Date.now(),
    });
    const application = await known(store, clientId);
    return {
      text: [
        `Created ${name}.`,
        credentials(clientId, secret),
        SHOWN_ONCE,
        authorizeExample(config, application),
      ].join('\n\n'),
      json: { ...applicationJson(application, owner!.email), client_secret: secret },
    };
  });
}

const collected = (uri: string, earlier: string[] = []): string[] => [...earlier, uri];

function redirectUriFaults(uris: readonly string[]): (string | undefined)[] {
  const faults = uris.map((uri) => {
    const words = redirectUriFaultInWords(uri);
    return words && `The redirect URI ${printable(uri)} ${words}.`;
  });
  return [...faults, redirectUriCountFault(uris.length)];
}

type Scopes = {
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
  readonly faults: readonly string[];
};

function parseScopes(options: CreateOptions): Scopes {
  const faults: string[] = [];
  const read = (option: string, text: string): ScopeSet => {
    const parsed = parseScope(text);
    if (parsed === undefined) {
      faults.push(
        `${option} "${printable(text)}" names an unknown scope. There are, separated by spaces: ${SCOPE_NAMES.join(' ')}.`,
      );
    }
    return parsed ?? NO_SCOPE;
  };
  const scope = read('--scope', options.scope);
  const optionalScope = read('--optional-scope', options.optionalScope ?? '');
  if (faults.length > 0) return { scope, optionalScope, faults };
  if (scope === NO_SCOPE) faults.push('--scope is empty: an application needs at least one scope.');
  else if (!includes(scope, optionalScope))
    faults.push('--optional-scope goes beyond --scope: it can only name scopes that are in it.');
  return { scope, optionalScope, faults };
}

const credentials = (clientId: string, secret: string): string =>
  table([
    ['client_id', clientId],
    ['client_secret', secret],
  ]);

const authorizeExample = (config: Config, application: Application): string =>
  `Its users begin here, with a fresh STATE and CODE_CHALLENGE each time:\n  ${exampleAuthorizeUrl(config.baseUrl, application)}\n` +
  'CODE_CHALLENGE is BASE64URL(SHA256(code_verifier)): PKCE, RFC 7636.';

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

function show(clientId: string): Promise<Result> {
  return withStore(async ({ store }) => {
    const application = await known(store, clientId);
    const owner = await ownerOf(store, application);
    const { name, redirectUris, scope, optionalScope, createdAt, secrets } = application;
    const leaveOut =
      optionalScope === NO_SCOPE ? '' : ` (the user may leave out: ${formatScope(optionalScope)})`;
    const details = [
      ['client_id', clientId],
      ['status', statusOf(application)],
      ['owner', owner ?? '(no longer there)'],
      ['scope', formatScope(scope) + leaveOut],
      ['created', readableTime(createdAt)],
      ...redirectUris.map((uri, index) => [index === 0 ? 'redirect URIs' : '', uri]),
      ...secrets.map((secret, index) => [index === 0 ? 'secrets' : '', secretInWords(secret, Date.now())]),
    ];
    return { text: `${printable(name)}\n${table(details, '  ')}`, json: applicationJson(application, owner) };
  });
}

function secretInWords({ tail, createdAt, expiresAt, lastUsedAt }: ApplicationSecret, now: number): string {
  const facts = [`…${tail}`, `created ${readableTime(createdAt)}`];
  if (lastUsedAt !== null) facts.push(`last used ${readableTime(lastUsedAt)}`);
  if (expiresAt !== null) facts.push(`${expiresAt > now ? 'ends' : 'ended'} ${readableTime(expiresAt)}`);
  return facts.join(', ');
}

function setDisabled(clientId: string, disabled: boolean): Promise<Result> {
  return withStore(async ({ store }) => {
    const application = await known(store, clientId);
    const owner = await ownerOf(store, application);
    const name = printable(application.name);
    const state = disabled ? 'disabled' : 'enabled';
    // What its owner disabled the operator can disable as well: then the owner cannot enable it.
    const already = disabled ? application.disabledBy === 'operator' : application.disabledAt === null;
    if (already) {
      return { text: `${name} is ${state} already.`, json: applicationJson(application, owner) };
    }
    await store.applications.setDisabled(clientId, disabled, Date.now());
    const effect = disabled
      ? ` Whatever it asks is refused, and its tokens with it.\nTo undo it: bin/postern apps enable ${clientId}`
      : ' It works again.';
    return {
      text: `${name} is ${state}.${effect}`,
      json: applicationJson(await known(store, clientId), owner),
    };
  });
}

function rotateSecret(clientId: string, { overlap }: { overlap: number }): Promise<Result> {
  return withStore(async ({ store }) => {
    const secret = newClientSecret();
    const now = Date.now();
    if (!(await store.applications.rotateSecret(clientId, secret, now + overlap, now)))
      throw unknownApplication(clientId);
    const application = await known(store, clientId);
    const end = overlap === 0 ? 'no longer work' : `work until ${readableTime(now + overlap)} at the latest`;
    return {
      text: [
        `${printable(application.name)} has a new secret. Earlier ones ${end}.`,
        credentials(clientId, secret),
        SHOWN_ONCE,
      ].join('\n\n'),
      json: { ...applicationJson(application, await ownerOf(store, application)), client_secret: secret },
    };
  });
}

function deleteApplication(clientId: string, { yes }: { yes?: boolean }): Promise<Result> {
  return withStore(async ({ store }) => {
    const application = await known(store, clientId);
    const name = printable(application.name);
    if (!yes) await confirmDeletion(name);
    if (!(await store.applications.delete(clientId))) throw unknownApplication(clientId);
    return {
      text: `Deleted ${name}. Its tokens no longer work.`,
      json: { client_id: clientId, deleted: true },
    };
  });
}

async function confirmDeletion(name: string): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new CommandFailed(
      `${name} was not deleted: there is no terminal to ask. Add --yes if that is what you want.`,
    );
  }
  process.stderr.write(`This deletes ${name} for good: its users have to connect a new application.\n`);
  if ((await answerTo('Type its name to go on: ')) !== name.trim())
    throw new CommandFailed(`${name} was not deleted.`);
}

/** Undefined when the input ends first (Ctrl-C, Ctrl-D). */
async function answerTo(question: string): Promise<string | undefined> {
  const reader = createInterface({
    input: process.stdin,
    output: process.stderr,
    prompt: question,
    historySize: 0,
  });
  const lines = reader[Symbol.asyncIterator]();
  reader.prompt();
  const { value, done } = await lines.next();
  reader.close();
  if (!done) return value.trim();
  process.stderr.write('\n');
  return undefined;
}

async function known(store: Store, clientId: string): Promise<Application> {
  const application = await store.applications.find(clientId);
  if (application) return application;
  throw unknownApplication(clientId);
}

const unknownApplication = (clientId: string): CommandFailed =>
  new CommandFailed(`There is no application ${printable(clientId)}. See all with: bin/postern apps list`);

const ownerOf = async (store: Store, { ownerId }: Application): Promise<string | undefined> =>
  (await store.users.find(ownerId))?.email;

const statusOf = ({ disabledAt }: Application): string => (disabledAt === null ? 'active' : 'disabled');

function applicationJson(application: Application, owner: string | undefined) {
  return {
    client_id: application.clientId,
    name: application.name,
    owner: owner ?? null,
    redirect_uris: application.redirectUris,
    scope: formatScope(application.scope),
    optional_scope: formatScope(application.optionalScope),
    created_at: isoTime(application.createdAt),
    disabled: application.disabledAt !== null,
    secrets: application.secrets.map(({ id, tail, createdAt, expiresAt, lastUsedAt }) => ({
      id,
      tail,
      created_at: isoTime(createdAt),
      expires_at: expiresAt === null ? null : isoTime(expiresAt),
      last_used_at: lastUsedAt === null ? null : isoTime(lastUsedAt),
    })),
  };
}
