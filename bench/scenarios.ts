import type { Client, Code, Contestant } from './contestants/contestant.ts';
import type { Requests } from './load/load.ts';

export type ScenarioId = 'refresh' | 'exchange' | 'userinfo' | 'revoke' | 'introspect';

/** A kind of request, sent to every server that supports it. */
export type Scenario = {
  readonly id: ScenarioId;
  readonly label: string;
  readonly offeredBy: (server: Contestant) => boolean;
  /** Creates the credentials for a run; up to `maxRequests` where each request consumes one. */
  readonly prepare: (server: Contestant, plan: Plan) => Promise<Requests>;
};

export type Plan = { readonly connections: number; readonly maxRequests: number };

/** Enough to avoid measuring a handful of hot rows. */
const ACTIVE_TOKENS = 1_000;

export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'refresh',
    label: 'refresh',
    offeredBy: () => true,
    prepare: async (server, { connections }) => rotation(server, await server.refreshTokens(connections)),
  },
  {
    id: 'exchange',
    label: 'code exchange',
    offeredBy: () => true,
    prepare: async (server, { maxRequests }) => {
      const codes = await server.codes(maxRequests);
      return {
        kind: 'once',
        messages: codes.map((code) => post(server.paths.token, codeForm(server.client, code))),
      };
    },
  },
  {
    id: 'userinfo',
    label: 'userinfo',
    offeredBy: () => true,
    prepare: async (server) => {
      const tokens = await server.accessTokens(ACTIVE_TOKENS);
      return { kind: 'repeat', messages: tokens.map((token) => get(server.paths.userinfo, token)) };
    },
  },
  {
    id: 'revoke',
    label: 'revoke',
    offeredBy: ({ paths }) => paths.revoke !== undefined,
    prepare: async (server, { maxRequests }) => {
      const tokens = await server.refreshTokens(maxRequests);
      const message = (token: string) => post(server.paths.revoke!, tokenForm(server.client, token));
      return { kind: 'once', messages: tokens.map(message) };
    },
  },
  {
    id: 'introspect',
    label: 'introspection',
    offeredBy: ({ paths }) => paths.introspect !== undefined,
    prepare: async (server) => {
      const tokens = await server.accessTokens(ACTIVE_TOKENS);
      const message = (token: string) => post(server.paths.introspect!, introspectionForm(server, token));
      return { kind: 'repeat', messages: tokens.map(message) };
    },
  },
];

export function rotation({ paths, client }: Contestant, tokens: readonly string[]): Requests {
  const form = encode({ grant_type: 'refresh_token', ...credentials(client), refresh_token: '' });
  return { kind: 'rotate', head: head('POST', paths.token, FORM), form, tokens };
}

export const refreshForm = (client: Client, token: string): Record<string, string> => ({
  grant_type: 'refresh_token',
  ...credentials(client),
  refresh_token: token,
});

export const codeForm = (client: Client, { code, verifier }: Code): Record<string, string> => ({
  grant_type: 'authorization_code',
  ...credentials(client),
  redirect_uri: client.redirectUri,
  code_verifier: verifier,
  code,
});

export const tokenForm = (client: Client, token: string): Record<string, string> => ({
  ...credentials(client),
  token,
});

export const introspectionForm = ({ introspector, client }: Contestant, token: string) => ({
  ...credentials(introspector ?? client),
  token,
});

const credentials = ({ id, secret }: Pick<Client, 'id' | 'secret'>) => ({
  client_id: id,
  client_secret: secret,
});

const FORM = 'content-type: application/x-www-form-urlencoded\r\n';
const encode = (form: Record<string, string>): string => new URLSearchParams(form).toString();
const head = (method: string, path: string, headers: string): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}`;

export const get = (path: string, token: string): string =>
  `${head('GET', path, `authorization: Bearer ${token}\r\n`)}\r\n`;

function post(path: string, form: Record<string, string>): string {
  const body = encode(form);
  return `${head('POST', path, FORM)}content-length: ${body.length}\r\n\r\n${body}`;
}
