import type { Command } from 'commander';
import { newClientId, redirectUriCountFault } from '../protocol/application.ts';
import { newClientSecret } from '../protocol/client-secret.ts';
import { nameFault } from '../protocol/name.ts';
import { redirectUriFault } from '../protocol/redirect-uri.ts';
import {
  defaultScope,
  formatScope,
  includes,
  NO_SCOPE,
  parseScope,
  type ScopeSet,
  scopeNames,
} from '../protocol/scope.ts';
import { applicationJson, authorizeExample, credentialsText } from './application-output.ts';
import { withStore } from './database.ts';
import { requireApplication } from './find-application.ts';
import { unknownUser } from './find-user.ts';
import { addAction, failOn, printable, type Result } from './output.ts';

type Options = {
  name: string;
  owner: string;
  redirectUri: string[];
  scope: string;
  optionalScope?: string;
};

export function addCreateCommand(apps: Command): void {
  const create = apps
    .command('create')
    .description('register an application and print its client_id and client_secret')
    .requiredOption('--name <name>', 'the name that users see on the consent page')
    .requiredOption('--owner <email>', 'the user it belongs to')
    .requiredOption('--redirect-uri <uri>', 'where users return to; repeat it for several', appended)
    .option('--scope <scope>', 'all scopes it may request, separated by spaces', formatScope(defaultScope()))
    .option('--optional-scope <scope>', 'those among them that the user may decline')
    .addHelpText(
      'after',
      '\nExample:\n  bin/postern apps create --name "Photo Wall" --owner ada@example.com \\\n' +
        '    --redirect-uri https://photos.example/callback --scope "profile email" --optional-scope email',
    );
  addAction(create, createApplication);
}

const appended = (uri: string, earlier: string[] = []): string[] => [...earlier, uri];

function createApplication(options: Options): Promise<Result> {
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
    const application = await requireApplication(store, clientId);
    return {
      text: [
        `Created ${name}.`,
        credentialsText(clientId, secret),
        authorizeExample(config, application),
      ].join('\n\n'),
      json: { ...applicationJson(application, owner!.email), client_secret: secret },
    };
  });
}

function redirectUriFaults(uris: readonly string[]): (string | undefined)[] {
  const faults = uris.map((uri) => {
    const fault = redirectUriFault(uri);
    return fault && `The redirect URI ${printable(uri)} ${fault}.`;
  });
  return [...faults, redirectUriCountFault(uris.length)];
}

type Scopes = {
  readonly scope: ScopeSet;
  readonly optionalScope: ScopeSet;
  readonly faults: readonly string[];
};

function parseScopes(options: Options): Scopes {
  const faults: string[] = [];
  const parse = (option: string, text: string): ScopeSet => {
    const parsed = parseScope(text);
    if (parsed === undefined) {
      faults.push(
        `${option} "${printable(text)}" contains an unknown scope. Known scopes: ${scopeNames().join(' ')} (separate them with spaces).`,
      );
    }
    return parsed ?? NO_SCOPE;
  };
  const scope = parse('--scope', options.scope);
  const optionalScope = parse('--optional-scope', options.optionalScope ?? '');
  if (faults.length > 0) return { scope, optionalScope, faults };
  if (scope === NO_SCOPE) faults.push('--scope is empty: an application needs at least one scope.');
  else if (!includes(scope, optionalScope))
    faults.push('--optional-scope may only contain scopes that --scope contains.');
  return { scope, optionalScope, faults };
}
