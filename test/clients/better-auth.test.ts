import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { TestClient } from '../support/service.ts';
import { newClient, openStage, pathOf, type Stage, spendLimit } from './stage.ts';

const SITE = 'https://site.example';
const REDIRECT_URI = `${SITE}/api/auth/callback/postern`;

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(() => stage.service.stop());

/** An application with sign-in by Postern, configured from the metadata as better-auth's documentation says. */
function siteOf({ clientId, clientSecret }: TestClient) {
  const tables = { user: [], session: [], account: [], verification: [] };
  return betterAuth({
    baseURL: SITE,
    secret: 'a secret for this test that is long enough',
    database: memoryAdapter(tables),
    logger: { disabled: true },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    plugins: [
      genericOAuth({
        config: [
          {
            providerId: 'postern',
            discoveryUrl: `${stage.service.url}/.well-known/oauth-authorization-server`,
            clientId,
            clientSecret,
            scopes: ['profile', 'email'],
            accountSubject: ({ profile }) => profile.sub ?? '',
          },
        ],
      }),
    ],
  });
}

/** A browser at that application: cookies, and requests like those of its pages. */
class SiteVisitor {
  readonly #site: { handler: (request: Request) => Promise<Response> };
  readonly #cookies = new Map<string, string>();

  constructor(site: { handler: (request: Request) => Promise<Response> }) {
    this.#site = site;
  }

  async request(address: string, body?: object): Promise<Response> {
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    const headers = { cookie, origin: SITE, ...(body && { 'content-type': 'application/json' }) };
    const init = body ? { method: 'POST', body: JSON.stringify(body), headers } : { headers };
    const response = await this.#site.handler(new Request(new URL(address, SITE), init));
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]!.split(/=(.*)/s);
      this.#cookies.set(name, value);
    }
    return response;
  }

  async signIn(decision = 'allow', change = (back: string) => back): Promise<URL> {
    const begun = await this.request('/api/auth/sign-in/social', {
      provider: 'postern',
      callbackURL: `${SITE}/welcome`,
      errorCallbackURL: `${SITE}/sorry`,
    });
    const { url } = (await begun.json()) as { url: string };
    const back = await stage.visitor.decide(pathOf(stage.service, url), decision);
    const done = await this.request(change(back));
    return new URL(done.headers.get('location')!);
  }
}

test('better-auth: sign-in with profile, refresh', async () => {
  const visitor = new SiteVisitor(siteOf(await newClient(stage.service, REDIRECT_URI)));
  const arrived = await visitor.signIn();
  assert.equal(arrived.href, `${SITE}/welcome`);
  const session = (await (await visitor.request('/api/auth/get-session')).json()) as {
    user: { email: string; emailVerified: boolean; name: string };
  };
  assert.equal(session.user.email, stage.visitor.user.email);
  assert.equal(session.user.emailVerified, true);
  assert.equal(session.user.name, 'Ada Lovelace');

  const [account] = (await (await visitor.request('/api/auth/list-accounts')).json()) as {
    id: string;
    accountId: string;
  }[];
  assert.equal(account?.accountId, stage.visitor.user.id);
  const reply = await visitor.request('/api/auth/refresh-token', { accountId: account?.id });
  const renewed = (await reply.json()) as { accessToken: string };
  assert.equal((await stage.service.userinfo(renewed.accessToken)).status, 200);
});

test('better-auth handles a denial at the consent screen', async () => {
  const visitor = new SiteVisitor(siteOf(await newClient(stage.service, REDIRECT_URI)));
  const arrived = await visitor.signIn('deny');
  assert.equal(arrived.origin + arrived.pathname, `${SITE}/sorry`);
  assert.equal(arrived.searchParams.get('error'), 'access_denied');
});

test('better-auth does not sign in with a refused code or over the rate limit', async () => {
  const registered = await newClient(stage.service, REDIRECT_URI);
  const visitor = new SiteVisitor(siteOf(registered));
  const forged = await visitor.signIn('allow', (back) => back.replace(/code=[^&]*/, 'code=forged'));
  assert.equal(forged.pathname, '/sorry');
  assert.ok(forged.searchParams.get('error'));

  await spendLimit(stage.service, registered);
  const limited = await visitor.signIn();
  assert.equal(limited.pathname, '/sorry');
  assert.equal(await (await visitor.request('/api/auth/get-session')).text(), 'null');
});
