import { createHash, randomBytes } from 'node:crypto';
import { type Cell, openBulk } from '../bulk.ts';
import type { Cleanup } from '../cleanup.ts';
import { Child, freePort } from '../processes.ts';
import { SCHEMA } from '../servers/oauth2-server-model.ts';
import { CLIENT, type Code, type Contestant } from './contestant.ts';

const SERVER = new URL('../servers/oauth2-server.ts', import.meta.url).pathname;
const USERS = 1_000;
const SCOPE = 'profile email';
const HOUR = 3_600_000;

/** Its tokens are random strings, inserted directly into the tables of its model. It has no revocation endpoint. */
export async function oauth2Server(databaseUrl: string, cleanup: Cleanup): Promise<Contestant> {
  const port = await freePort();
  const bulk = openBulk(databaseUrl);
  cleanup.add(() => bulk.close());
  await bulk.query(SCHEMA);
  const users = Array.from({ length: USERS }, (_, i) => `user${i}`);
  await bulk.insert(
    'accounts',
    ['id', 'email', 'name'],
    users.map((id) => [id, `${id}@example.com`, 'Ada Lovelace']),
  );
  const common = (i: number, expiresAt: number): Cell[] => [users[i % USERS]!, CLIENT.id, SCOPE, expiresAt];
  const columns = ['user_id', 'client_id', 'scope', 'expires_at'];
  const tokens = async (table: string, count: number, ttlMs: number) => {
    const created = Array.from({ length: count }, () => randomBytes(32).toString('hex'));
    const rows = created.map((token, i) => [token, ...common(i, Date.now() + ttlMs)]);
    await bulk.insert(table, ['token', ...columns], rows);
    return created;
  };
  const codes = async (count: number): Promise<Code[]> => {
    const created = Array.from({ length: count }, () => ({
      code: randomBytes(32).toString('hex'),
      verifier: randomBytes(32).toString('base64url'),
    }));
    const rows = created.map(({ code, verifier }, i) => {
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      return [code, ...common(i, Date.now() + 300_000), CLIENT.redirectUri, challenge];
    });
    await bulk.insert('codes', ['code', ...columns, 'redirect_uri', 'code_challenge'], rows);
    return created;
  };
  const env = { BENCH_PORT: String(port), BENCH_DATABASE_URL: databaseUrl };
  return {
    id: 'oauth2-server',
    label: '@node-oauth/oauth2-server 5',
    ports: [port],
    client: CLIENT,
    paths: { token: '/token', userinfo: '/userinfo' },
    usesPostgres: true,
    start: () => [new Child('oauth2-server', [process.execPath, SERVER], env, cleanup)],
    codes,
    refreshTokens: (count) => tokens('refresh_tokens', count, 720 * HOUR),
    accessTokens: (count) => tokens('access_tokens', count, HOUR),
    footprint: () => bulk.footprint(),
    close: async () => {},
  };
}
