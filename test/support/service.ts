import { createHash, randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Logger, pino } from 'pino';
import { type App, createApp } from '../../src/app.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { PosternServer } from '../../src/http/server.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { loadObservers, observeDatabase } from '../../src/observability/observers.ts';
import { PasswordHasher } from '../../src/passwords/password-hasher.ts';
import { newClientSecret } from '../../src/protocol/client-secret.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import { routing } from '../../src/routes.ts';
import type { ReferenceClock } from '../../src/store/reference-clock.ts';
import { openStore } from '../../src/store/store.ts';
import {
  allowConnections,
  createDatabase,
  dropDatabase,
  everyRow,
  query,
  refuseConnections,
} from './postgres-database.ts';

/** A reference for a test with a time of its own. */
export const agreeingClock: ReferenceClock = {
  kind: 'database',
  compare: async () => ({ trusted: true, aheadMs: 0 }),
  record: async () => {},
};

/** A clock that the test moves. It starts at a round time, so that limits are easy to calculate. */
class Clock {
  ms = Date.UTC(2030, 0, 1);
  advance(ms: number): void {
    this.ms += ms;
  }
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const REDIRECT_URI = 'https://client.example/callback?fixed=a%20b';
export const PASSWORD = 'correct horse battery staple';

export type TestClient = { clientId: string; clientSecret: string; redirectUri: string };
export type TestUser = { id: string; email: string; password: string };
export type Tokens = {
  access_token: string;
  refresh_token: string;
  token_type: string;
  expires_in: number;
  scope: string;
};
export type Reply = { status: number; headers: Headers; body: Record<string, unknown>; text: string };

/** The same password for every test user, hashed once: Argon2 is slow on purpose. */
const passwordHash = new PasswordHasher().hash(PASSWORD);

const SECRET = 'a secret for tests that is long enough';

/**
 * Postern on a real port and a real database, with a clock of its own. The database is an SQLite file, or a new
 * database on the PostgreSQL server in POSTERN_TEST_DATABASE (npm run test:postgres).
 */
export class Service {
  readonly clock: Clock;
  readonly app: App;
  readonly url: string;
  readonly folder: string;
  readonly logged: string[];
  readonly #server: PosternServer;
  readonly #ownDatabase: string | undefined;

  private constructor(
    clock: Clock,
    app: App,
    url: string,
    folder: string,
    logged: string[],
    server: PosternServer,
    ownDatabase: string | undefined,
  ) {
    this.clock = clock;
    this.app = app;
    this.url = url;
    this.folder = folder;
    this.logged = logged;
    this.#server = server;
    this.#ownDatabase = ownDatabase;
  }

  static async start(settings: Record<string, string> = {}): Promise<Service> {
    const clock = new Clock();
    const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
    const server = process.env.POSTERN_TEST_DATABASE;
    const ownDatabase = server && !settings.POSTERN_DATABASE_URL ? await createDatabase(server) : undefined;
    const config: Config = readConfig({
      POSTERN_DATA_DIR: folder,
      POSTERN_BASE_URL: 'http://postern.test',
      POSTERN_SECRET: SECRET,
      ...(ownDatabase && { POSTERN_DATABASE_URL: ownDatabase }),
      ...settings,
    });
    const logged: string[] = [];
    const logDestination = { write: (line: string) => void logged.push(line) };
    const log: Logger = pino({ level: 'trace' }, logDestination);
    const observers = await loadObservers(config, log);
    const observe = observeDatabase(observers);
    const store = openStore(config.databaseUrl, { connections: config.databaseConnections, observe });
    await store.migrate();
    const keys = new Keyring(config.secret!, Number.POSITIVE_INFINITY);
    const now = () => clock.ms;
    // The test moves its clock; a database server does not follow.
    const clocked = store.clock.kind === 'database' ? { ...store, clock: agreeingClock } : store;
    const app = createApp({ ...observers, config, store: clocked, keys, now, log, logDestination });
    const http = new PosternServer(app, routing());
    await http.listen('127.0.0.1', settings.POSTERN_PORT ? config.port : 0);
    return new Service(clock, app, `http://127.0.0.1:${http.port}`, folder, logged, http, ownDatabase);
  }

  /** Listens at the address of its metadata, for clients that use discovery. */
  static async startWhereItSays(settings: Record<string, string> = {}): Promise<Service> {
    const port = await freePort();
    return Service.start({
      POSTERN_PORT: String(port),
      POSTERN_BASE_URL: `http://127.0.0.1:${port}`,
      ...settings,
    });
  }

  async stop(): Promise<void> {
    await this.#server.close();
    await this.app.mailer.stop();
    await this.app.store.close();
    await this.app.tracer?.stop();
    if (this.#ownDatabase) await dropDatabase(this.#ownDatabase);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Makes the database unavailable until the returned function is called. */
  async takeDatabaseAway(): Promise<() => Promise<void>> {
    const { databaseUrl } = this.app.config;
    if (databaseUrl.startsWith('sqlite:')) {
      const path = databaseUrl.slice('sqlite:'.length);
      renameSync(path, `${path}.away`);
      return async () => renameSync(`${path}.away`, path);
    }
    await refuseConnections(databaseUrl);
    return () => allowConnections(databaseUrl);
  }

  /** Rows of the database, read by another connection. */
  async rows(sql: string): Promise<Record<string, unknown>[]> {
    const { databaseUrl } = this.app.config;
    if (!databaseUrl.startsWith('sqlite:')) return query(databaseUrl, sql);
    const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }

  /** The whole database as bytes, as a thief would have it. */
  async storedBytes(): Promise<Buffer> {
    const { databaseUrl } = this.app.config;
    if (!databaseUrl.startsWith('sqlite:')) return Buffer.from(await everyRow(databaseUrl));
    const names = readdirSync(this.folder);
    return Buffer.concat(names.map((name) => readFileSync(join(this.folder, name))));
  }

  async createUser(
    email = `${newId().toLowerCase()}@example.com`,
    name: string | null = 'Ada Lovelace',
    emailVerified = true,
  ): Promise<TestUser> {
    const id = newId();
    const hash = await passwordHash;
    await this.app.store.users.create({
      id,
      email,
      emailVerified,
      name,
      passwordHash: hash,
      now: this.clock.ms,
    });
    return { id, email, password: PASSWORD };
  }

  async createClient(
    options: {
      name?: string;
      redirectUris?: string[];
      scope?: string;
      optionalScope?: string;
      ownerId?: string;
    } = {},
  ): Promise<TestClient> {
    const {
      name = 'Test application',
      redirectUris = [REDIRECT_URI],
      scope = 'profile email',
      optionalScope = '',
      ownerId = 'nobody',
    } = options;
    const clientId = `app_${randomBytes(8).toString('hex')}`;
    const clientSecret = newClientSecret();
    await this.app.store.applications.create({
      clientId,
      ownerId,
      name,
      redirectUris,
      scope: parseScope(scope)!,
      optionalScope: parseScope(optionalScope)!,
      secret: clientSecret,
      now: this.clock.ms,
    });
    return { clientId, clientSecret, redirectUri: redirectUris[0]! };
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return reply(await fetch(this.url + path, { headers, redirect: 'manual' }));
  }

  async post(
    path: string,
    form: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const body = new URLSearchParams(form);
    return reply(await fetch(this.url + path, { method: 'POST', body, headers, redirect: 'manual' }));
  }

  async send(path: string, init: RequestInit): Promise<Reply> {
    return reply(await fetch(this.url + path, { redirect: 'manual', ...init }));
  }

  exchange(client: TestClient, issued: IssuedCode, changes: Record<string, string> = {}): Promise<Reply> {
    return this.post('/oauth/token', exchangeForm(client, issued, changes));
  }

  refresh(client: TestClient, refreshToken: string, changes: Record<string, string> = {}): Promise<Reply> {
    return this.post('/oauth/token', refreshForm(client, refreshToken, changes));
  }

  revoke(client: TestClient, token: string, changes: Record<string, string> = {}): Promise<Reply> {
    const { clientId: client_id, clientSecret: client_secret } = client;
    return this.post('/oauth/revoke', { token, client_id, client_secret, ...changes });
  }

  userinfo(accessToken: string): Promise<Reply> {
    return this.get('/oauth/userinfo', { authorization: `Bearer ${accessToken}` });
  }

  /** A code, issued through the real consent screen. */
  async authorize(
    client: TestClient,
    visitor: Visitor,
    parameters: Record<string, string> = {},
  ): Promise<IssuedCode> {
    const verifier = newVerifier();
    const location = await visitor.allow(authorizePath(client, verifier, parameters));
    const code = new URL(location).searchParams.get('code');
    if (!code) throw new Error(`no code in ${location}`);
    return { code, verifier };
  }

  /** Tokens, issued through the real consent screen and exchange. */
  async tokens(
    client: TestClient,
    visitor: Visitor,
    parameters: Record<string, string> = {},
  ): Promise<Tokens> {
    const result = await this.exchange(client, await this.authorize(client, visitor, parameters));
    if (result.status !== 200) throw new Error(`exchange failed: ${result.text}`);
    return result.body as Tokens;
  }

  /** A browser that is not signed in. */
  async visitor(user?: TestUser, userAgent = 'node'): Promise<Visitor> {
    return new Visitor(this, user ?? (await this.createUser()), userAgent);
  }

  async signedIn(user?: TestUser): Promise<Visitor> {
    const visitor = new Visitor(this, user ?? (await this.createUser()));
    await visitor.signIn();
    return visitor;
  }
}

export type IssuedCode = { code: string; verifier: string };

export const newVerifier = (): string => randomBytes(32).toString('base64url');
export const challengeOf = (verifier: string): string =>
  createHash('sha256').update(verifier).digest('base64url');

export function authorizePath(
  client: TestClient,
  verifier: string,
  parameters: Record<string, string> = {},
): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    ...parameters,
  });
  return `/oauth/authorize?${query}`;
}

export function exchangeForm(
  client: TestClient,
  issued: IssuedCode,
  changes: Record<string, string> = {},
): Record<string, string> {
  return {
    grant_type: 'authorization_code',
    code: issued.code,
    client_id: client.clientId,
    client_secret: client.clientSecret,
    redirect_uri: client.redirectUri,
    code_verifier: issued.verifier,
    ...changes,
  };
}

export function refreshForm(
  client: TestClient,
  refreshToken: string,
  changes: Record<string, string> = {},
): Record<string, string> {
  const { clientId: client_id, clientSecret: client_secret } = client;
  return { grant_type: 'refresh_token', refresh_token: refreshToken, client_id, client_secret, ...changes };
}

/** A browser without script: cookies, forms and redirects. */
export class Visitor {
  readonly user: TestUser;
  readonly cookies = new Map<string, string>();
  readonly #service: Service;
  readonly #userAgent: string;

  constructor(service: Service, user: TestUser, userAgent = 'node') {
    this.#service = service;
    this.user = user;
    this.#userAgent = userAgent;
  }

  async get(path: string): Promise<Reply> {
    return this.#keep(await this.#service.get(path, this.#headers()));
  }

  async post(
    path: string,
    form: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    return this.#keep(await this.#service.post(path, form, { ...this.#headers(), ...headers }));
  }

  async signIn(path = '/login', password = this.user.password): Promise<Reply> {
    const page = await this.get(path);
    return this.post('/login', { ...hiddenFields(page.text), email: this.user.email, password });
  }

  /** Signs in again if a test has moved the clock past the end of the session. */
  async staySignedIn(): Promise<void> {
    if ((await this.get('/login')).status !== 303) await this.signIn();
  }

  /** Opens an authorization request and allows it; returns the redirect address. */
  async allow(path: string, fields: Record<string, string> = {}): Promise<string> {
    return this.decide(path, 'allow', fields);
  }

  async decide(path: string, decision: string, fields: Record<string, string> = {}): Promise<string> {
    const page = await this.get(path);
    if (page.status !== 200)
      throw new Error(`no consent screen but ${page.status}: ${page.headers.get('location') ?? page.text}`);
    const result = await this.post('/oauth/authorize', { ...hiddenFields(page.text), decision, ...fields });
    return result.headers.get('location') ?? '';
  }

  #headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { cookie, 'user-agent': this.#userAgent };
  }

  #keep(result: Reply): Reply {
    for (const line of result.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1);
      const equals = pair.indexOf('=');
      const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return result;
  }
}

/** The hidden fields of a page's first form. */
export function hiddenFields(page: string): Record<string, string> {
  const form = /<form[\s\S]*?<\/form>/.exec(page)?.[0] ?? '';
  const fields: Record<string, string> = {};
  for (const [, name, value] of form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)) {
    fields[name!] = value!
      .replaceAll('&amp;', '&')
      .replaceAll('&#39;', "'")
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<');
  }
  return fields;
}

async function reply(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** Below the range of ephemeral ports, so that no other process gets it in the meantime. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const probe = createServer().listen(port, '127.0.0.1');
    try {
      await once(probe, 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
