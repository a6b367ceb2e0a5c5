import type { Contestant } from './contestants/contestant.ts';
import type { Exchange, LoadResult } from './load/load.ts';
import { introspectionForm, refreshForm, type ScenarioId } from './scenarios.ts';

/** Number of connections per run whose last exchange is checked in detail. */
const SAMPLE = 4;

/**
 * Fails the benchmark unless every response was 200 and, for a sample: issued tokens work, consumed
 * ones do not work again, revoked ones are gone.
 */
export async function check(server: Contestant, scenario: ScenarioId, result: LoadResult): Promise<void> {
  const wrong = (what: string) => new Error(`${server.label}, ${scenario}: ${what}`);
  if (result.failures > 0)
    throw wrong(`${result.failures} requests failed, the first with ${result.failure}`);
  if (result.completed === 0) throw wrong('no request succeeded');
  if (server.id === 'floor') return;
  for (const exchange of result.last.slice(0, SAMPLE)) {
    const fault = await CHECKS[scenario](server, exchange);
    if (fault) throw wrong(fault);
  }
}

type Check = (server: Contestant, exchange: Exchange) => Promise<string | undefined>;
type Tokens = { access_token: string; refresh_token: string };

const CHECKS: Record<ScenarioId, Check> = {
  async refresh(server, { message, body }) {
    const { access_token, refresh_token } = JSON.parse(body) as Tokens;
    if (!(await works(server, access_token))) return 'an access token it issued does not work';
    const replay = await post(server, server.paths.token, bodyOf(message));
    if (!isInvalidGrant(replay)) return `a refresh token worked twice: ${replay.text}`;
    if (!detectsReuse(server)) return undefined;
    const next = await post(server, server.paths.token, refreshForm(server.client, refresh_token));
    return isInvalidGrant(next) ? undefined : `a grant survived the reuse of its token: ${next.text}`;
  },

  async exchange(server, { message, body }) {
    const { access_token, refresh_token } = JSON.parse(body) as Tokens;
    if (!(await works(server, access_token))) return 'an access token it issued does not work';
    const refreshed = await post(server, server.paths.token, refreshForm(server.client, refresh_token));
    if (refreshed.status !== 200) return `a refresh token it issued does not work: ${refreshed.text}`;
    const replay = await post(server, server.paths.token, bodyOf(message));
    return isInvalidGrant(replay) ? undefined : `a code worked twice: ${replay.text}`;
  },

  async userinfo(server, { body }) {
    const claims = JSON.parse(body) as { sub?: string; email?: string };
    if (!claims.sub || !claims.email) return `unexpected claims: ${body}`;
    const invented = await userinfo(server, 'not-a-token');
    return invented.status === 401 ? undefined : `an invented token got ${invented.status}`;
  },

  async revoke(server, { message }) {
    const token = new URLSearchParams(bodyOf(message)).get('token')!;
    const refreshed = await post(server, server.paths.token, refreshForm(server.client, token));
    return isInvalidGrant(refreshed) ? undefined : `a revoked token still works: ${refreshed.text}`;
  },

  async introspect(server, { body }) {
    if ((JSON.parse(body) as { active: boolean }).active !== true)
      return `an active token is reported inactive: ${body}`;
    const invented = await post(server, server.paths.introspect!, introspectionForm(server, 'not-a-token'));
    return (JSON.parse(invented.text) as { active: boolean }).active === false ? undefined : invented.text;
  },
};

/** oauth2-server deletes a used token, so it cannot recognize its reuse. */
const detectsReuse = (server: Contestant): boolean => server.id !== 'oauth2-server';

/** oidc-provider's userinfo requires the openid scope, which these tokens lack: its tokens are introspected instead. */
async function works(server: Contestant, accessToken: string): Promise<boolean> {
  if (server.id !== 'oidc-provider') return (await userinfo(server, accessToken)).status === 200;
  const { text } = await post(server, server.paths.introspect!, introspectionForm(server, accessToken));
  return (JSON.parse(text) as { active: boolean }).active;
}

type Reply = { readonly status: number; readonly text: string };

const isInvalidGrant = ({ status, text }: Reply): boolean =>
  status === 400 && (JSON.parse(text) as { error: string }).error === 'invalid_grant';

const bodyOf = (message: string): string => message.slice(message.indexOf('\r\n\r\n') + 4);

async function post(server: Contestant, path: string, form: string | Record<string, string>): Promise<Reply> {
  const body = new URLSearchParams(form);
  const response = await fetch(anyNode(server, path), { method: 'POST', body });
  return { status: response.status, text: await response.text() };
}

async function userinfo(server: Contestant, token: string): Promise<Reply> {
  const url = anyNode(server, server.paths.userinfo);
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, text: await response.text() };
}

/** Alternates between nodes: what one did, all must know. */
let nodeIndex = 0;
const anyNode = ({ ports }: Contestant, path: string): string =>
  `http://127.0.0.1:${ports[nodeIndex++ % ports.length]}${path}`;
