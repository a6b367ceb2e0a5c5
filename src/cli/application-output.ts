import type { Config } from '../config.ts';
import { exampleAuthorizeUrl } from '../protocol/authorize-url.ts';
import { formatScope, NO_SCOPE } from '../protocol/scope.ts';
import type { ApplicationSecret } from '../store/application-secrets.ts';
import type { Application } from '../store/applications.ts';
import { isoTime, printable, readableTime, table } from './output.ts';

/** Credentials of an application: the only time its client secret is printed. */
export const credentialsText = (clientId: string, secret: string): string =>
  [
    table([
      ['client_id', clientId],
      ['client_secret', secret],
    ]),
    'The secret is shown only once. Store it where the application keeps its secrets.',
  ].join('\n\n');

export const authorizeExample = (config: Config, application: Application): string =>
  `Send users here, with a new STATE and CODE_CHALLENGE each time:\n  ${exampleAuthorizeUrl(config.baseUrl, application)}\n` +
  'CODE_CHALLENGE is BASE64URL(SHA256(code_verifier)): PKCE, RFC 7636.';

export function applicationText(application: Application, owner: string | undefined, now: number): string {
  const { clientId, name, redirectUris, scope, optionalScope, createdAt, secrets } = application;
  const optional = optionalScope === NO_SCOPE ? '' : ` (optional: ${formatScope(optionalScope)})`;
  const details = [
    ['client_id', clientId],
    ['status', statusOf(application)],
    ['owner', owner ?? '(deleted)'],
    ['scope', formatScope(scope) + optional],
    ['created', readableTime(createdAt)],
    ...redirectUris.map((uri, index) => [index === 0 ? 'redirect URIs' : '', uri]),
    ...secrets.map((secret, index) => [index === 0 ? 'secrets' : '', secretText(secret, now)]),
  ];
  return `${printable(name)}\n${table(details, '  ')}`;
}

function secretText({ tail, createdAt, expiresAt, lastUsedAt }: ApplicationSecret, now: number): string {
  const parts = [`…${tail}`, `created ${readableTime(createdAt)}`];
  if (lastUsedAt !== null) parts.push(`last used ${readableTime(lastUsedAt)}`);
  if (expiresAt !== null) parts.push(`${expiresAt > now ? 'expires' : 'expired'} ${readableTime(expiresAt)}`);
  return parts.join(', ');
}

export const statusOf = ({ disabledAt }: Application): string =>
  disabledAt === null ? 'active' : 'disabled';

export function applicationJson(application: Application, owner: string | undefined) {
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
