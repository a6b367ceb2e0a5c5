import { createHash, randomBytes } from 'node:crypto';
import type Provider from 'oidc-provider';
import { Pool } from 'pg';
import { openBulk } from '../bulk.ts';
import type { Cleanup } from '../cleanup.ts';
import { Child, freePort } from '../processes.ts';
import { makeProvider, SCHEMA } from '../servers/oidc-provider-setup.ts';
import { CLIENT, type Code, type Contestant } from './contestant.ts';

const SERVER = new URL('../servers/oidc-provider.ts', import.meta.url).pathname;
const USERS = 1_000;
const CONCURRENCY = 64;
const SCOPE = 'offline_access profile email';

/** Codes and tokens are created with its own models, in this process, on the server's database. */
export async function oidcProvider(databaseUrl: string, cleanup: Cleanup): Promise<Contestant> {
  const port = await freePort();
  const bulk = openBulk(databaseUrl);
  const pool = new Pool({ connectionString: databaseUrl, max: 8 });
  pool.on('error', () => {});
  cleanup.add(() => bulk.close());
  cleanup.add(() => pool.end());
  await bulk.query(SCHEMA);
  const users = Array.from({ length: USERS }, (_, i) => `user${i}`);
  await bulk.insert(
    'accounts',
    ['id', 'email', 'name'],
    users.map((id) => [id, `${id}@example.com`, 'Ada Lovelace']),
  );
  const issuer = new Issuer(makeProvider(pool), users);
  const env = { BENCH_PORT: String(port), BENCH_DATABASE_URL: databaseUrl };
  return {
    id: 'oidc-provider',
    label: 'oidc-provider 9',
    ports: [port],
    client: CLIENT,
    paths: {
      token: '/token',
      userinfo: '/me',
      revoke: '/token/revocation',
      introspect: '/token/introspection',
    },
    usesPostgres: true,
    start: () => [new Child('oidc-provider', [process.execPath, SERVER], env, cleanup)],
    codes: (count) => createMany(count, (i) => issuer.code(i)),
    refreshTokens: (count) => createMany(count, (i) => issuer.refreshToken(i)),
    accessTokens: (count) => createMany(count, (i) => issuer.accessToken(i)),
    footprint: () => bulk.footprint(),
    close: async () => {},
  };
}

class Issuer {
  readonly #provider: Provider;
  readonly #users: readonly string[];

  constructor(provider: Provider, users: readonly string[]) {
    this.#provider = provider;
    this.#users = users;
  }

  async code(index: number): Promise<Code> {
    const verifier = randomBytes(32).toString('base64url');
    const code = new this.#provider.AuthorizationCode({
      ...(await this.#common(index, SCOPE)),
      redirectUri: CLIENT.redirectUri,
      codeChallenge: createHash('sha256').update(verifier).digest('base64url'),
      codeChallengeMethod: 'S256',
    });
    return { code: await code.save(300), verifier };
  }

  async refreshToken(index: number): Promise<string> {
    const properties = await this.#common(index, SCOPE);
    const iiat = Math.floor(Date.now() / 1000);
    return new this.#provider.RefreshToken({ ...properties, iiat, rotations: 0 }).save(2_592_000);
  }

  async accessToken(index: number): Promise<string> {
    return new this.#provider.AccessToken(await this.#common(index, `openid ${SCOPE}`)).save(3600);
  }

  async #common(index: number, scope: string): Promise<object> {
    const accountId = this.#users[index % this.#users.length]!;
    const grant = new this.#provider.Grant({ accountId, clientId: CLIENT.id });
    grant.addOIDCScope(scope);
    const client = await this.#provider.Client.find(CLIENT.id);
    return { client, accountId, scope, grantId: await grant.save(2_592_000), gty: 'authorization_code' };
  }
}

async function createMany<T>(count: number, create: (index: number) => Promise<T>): Promise<T[]> {
  const created: T[] = [];
  while (created.length < count) {
    const size = Math.min(CONCURRENCY, count - created.length);
    created.push(...(await Promise.all(Array.from({ length: size }, (_, i) => create(created.length + i)))));
  }
  return created;
}
