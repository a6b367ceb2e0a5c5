import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Keyring, type Keys } from '../../src/keys/keyring.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import { openStore } from '../../src/store/store.ts';
import { type Bulk, type Cell, type Footprint, openBulk } from '../bulk.ts';
import type { Cleanup } from '../cleanup.ts';
import type { Database } from '../database.ts';
import { Child, freePort } from '../processes.ts';
import { CLIENT, type Code, type Contestant, type Paths } from './contestant.ts';

const COMMAND = new URL('../../bin/postern', import.meta.url).pathname;
const SCOPE = parseScope('profile email')!;
const USERS = 1_000;
const HOUR = 3_600_000;
const MONTH = 30 * 24 * HOUR;

/** Credentials of the platform's own API, for introspection. */
const RESOURCE_SERVER = { id: 'api_bench', secret: 'postern_rs_0b8Zr9n2cXhVtq0LwYk3uJmEo7aFdGs1iPzRxQvTbNc' };

/** Tables of the request log and the counters: limited per application, whatever the traffic. */
const BOUNDED_TABLES = ['request_log', 'usage_hours', 'usage_users', 'rate_windows'];

export const USER_COLUMNS = [
  'id',
  'email',
  'email_verified_at',
  'name',
  'password_hash',
  'created_at',
  'updated_at',
];
export const GRANT_COLUMNS = [
  ...['user_id', 'id', 'client_id', 'scope', 'generation', 'expires_at'],
  ...['redirect_uri', 'code_challenge', 'created_at', 'last_used_at'],
];

export const userRow = (id: string, now: number): Cell[] => [
  ...[id, `${id.toLowerCase()}@example.com`, now, 'Ada Lovelace', 'no password', now, now],
];

/** A typical grant: refreshed before, its code expired. */
export const grantRow = (userId: string, id: string, now: number): Cell[] => [
  ...[userId, id, CLIENT.id, SCOPE, 1, now + MONTH, null, null, now - HOUR, now],
];

export type PosternOptions = {
  readonly id: string;
  readonly label: string;
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** Additional arguments for `serve`, and for Node itself. */
  readonly serveArguments?: readonly string[];
  readonly nodeArguments?: readonly string[];
  /** Number of processes that share the database, each on its own port. */
  readonly nodes?: number;
};

/** Postern as installed: the real command with its log on. Only the rate limit is raised out of the way. */
export class Postern implements Contestant {
  readonly id: string;
  readonly label: string;
  readonly ports: readonly number[];
  readonly client = CLIENT;
  readonly introspector = RESOURCE_SERVER;
  readonly paths: Paths = {
    token: '/oauth/token',
    userinfo: '/oauth/userinfo',
    revoke: '/oauth/revoke',
    introspect: '/oauth/introspect',
  };
  readonly usesPostgres: boolean;
  readonly bulk: Bulk;
  readonly #options: PosternOptions;
  readonly #cleanup: Cleanup;
  readonly #secret: string;
  readonly #keys: Keys;
  #users: readonly string[];

  private constructor(
    options: PosternOptions,
    secret: string,
    ports: readonly number[],
    users: readonly string[],
    cleanup: Cleanup,
  ) {
    this.id = options.id;
    this.label = options.label;
    this.ports = ports;
    this.usesPostgres = options.databaseUrl.startsWith('postgres');
    this.bulk = openBulk(options.databaseUrl);
    this.#secret = secret;
    this.#options = options;
    this.#cleanup = cleanup;
    this.#keys = new Keyring(secret, Number.POSITIVE_INFINITY);
    this.#users = users;
  }

  static async prepare(options: PosternOptions, cleanup: Cleanup): Promise<Postern> {
    const users = Array.from({ length: USERS }, newId);
    const secret = randomBytes(48).toString('base64url');
    const ports = await Promise.all(Array.from({ length: options.nodes ?? 1 }, freePort));
    const postern = new Postern(options, secret, ports, users, cleanup);
    cleanup.add(() => postern.close());
    await createSchemaAndClient(options.databaseUrl);
    await postern.bulk.insert(
      'users',
      USER_COLUMNS,
      users.map((id) => userRow(id, Date.now())),
    );
    return postern;
  }

  start(): Child[] {
    return this.ports.map((port) => this.#startNode(port));
  }

  #startNode(port: number): Child {
    const { databaseUrl, dataDir, serveArguments = [], nodeArguments = [] } = this.#options;
    const env = {
      POSTERN_PORT: String(port),
      POSTERN_DATABASE_URL: databaseUrl,
      POSTERN_DATA_DIR: dataDir,
      POSTERN_SECRET: this.#secret,
      POSTERN_RATE_LIMIT: '1000000000',
      NODE_OPTIONS: nodeArguments.join(' '),
    };
    return new Child(this.label, [COMMAND, 'serve', ...serveArguments], env, this.#cleanup);
  }

  /** Creates codes and tokens for these users from now on. */
  useUsers(users: readonly string[]): void {
    this.#users = users;
  }

  async codes(count: number): Promise<Code[]> {
    const now = Date.now();
    const codes: Code[] = [];
    const rows: Cell[][] = [];
    for (let i = 0; i < count; i++) {
      const [userId, grantId] = [this.#user(i), newId()];
      const verifier = randomBytes(32).toString('base64url');
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      rows.push([
        userId,
        grantId,
        CLIENT.id,
        SCOPE,
        0,
        now + 300_000,
        CLIENT.redirectUri,
        challenge,
        now,
        null,
      ]);
      codes.push({ code: this.#keys.tokenSigner.signCode({ userId, grantId, generation: 0 }), verifier });
    }
    await this.bulk.insert('grants', GRANT_COLUMNS, rows);
    return codes;
  }

  async refreshTokens(count: number): Promise<string[]> {
    return (await this.#grants(count)).map(({ userId, grantId }) => this.refreshToken(userId, grantId));
  }

  async accessTokens(count: number): Promise<string[]> {
    return (await this.#grants(count)).map(({ userId, grantId }) => this.accessToken(userId, grantId));
  }

  refreshToken(userId: string, grantId: string, generation = 1): string {
    return this.#keys.tokenSigner.signRefreshToken({ userId, grantId, generation });
  }

  accessToken(userId: string, grantId: string, generation = 1): string {
    const ref = { userId, grantId, generation };
    return this.#keys.tokenSigner.signAccessToken({ ...ref, expiresAt: Date.now() + HOUR, scope: SCOPE });
  }

  footprint(): Promise<Footprint> {
    return this.bulk.footprint({ bounded: BOUNDED_TABLES });
  }

  close(): Promise<void> {
    return this.bulk.close();
  }

  async #grants(count: number): Promise<{ userId: string; grantId: string }[]> {
    const grants = Array.from({ length: count }, (_, i) => ({ userId: this.#user(i), grantId: newId() }));
    const rows = grants.map(({ userId, grantId }) => grantRow(userId, grantId, Date.now()));
    await this.bulk.insert('grants', GRANT_COLUMNS, rows);
    return grants;
  }

  #user(index: number): string {
    return this.#users[index % this.#users.length]!;
  }
}

/** Creates the schema and the benchmark's application, with the service's own code. */
async function createSchemaAndClient(databaseUrl: string): Promise<void> {
  const store = openStore(databaseUrl);
  await store.migrate();
  if (!(await store.applications.find(CLIENT.id))) {
    await store.applications.create({
      clientId: CLIENT.id,
      ownerId: 'nobody',
      name: 'Benchmark',
      redirectUris: [CLIENT.redirectUri],
      scope: SCOPE,
      optionalScope: 0,
      secret: CLIENT.secret,
      now: Date.now(),
    });
    await store.resourceServers.create({ ...RESOURCE_SERVER, name: 'Benchmark', now: Date.now() });
  }
  await store.close();
}

export async function posternOnSqlite(
  folder: string,
  cleanup: Cleanup,
  nodeArguments: readonly string[] = [],
): Promise<Postern> {
  const dataDir = join(folder, 'postern-sqlite');
  mkdirSync(dataDir, { recursive: true });
  const databaseUrl = `sqlite:${join(dataDir, 'postern.db')}`;
  const names = { id: 'postern-sqlite', label: 'Postern on SQLite' };
  return Postern.prepare({ ...names, databaseUrl, dataDir, nodeArguments }, cleanup);
}

export async function posternOnPostgres(
  folder: string,
  database: Database,
  cleanup: Cleanup,
  nodeArguments: readonly string[] = [],
): Promise<Postern> {
  const dataDir = join(folder, 'postern-postgres');
  mkdirSync(dataDir, { recursive: true });
  const databaseUrl = await database.create('postern');
  const names = { id: 'postern-postgres', label: 'Postern on PostgreSQL' };
  return Postern.prepare({ ...names, databaseUrl, dataDir, nodeArguments }, cleanup);
}
