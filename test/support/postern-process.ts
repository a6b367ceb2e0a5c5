import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keyring, type Keys } from '../../src/keys/keyring.ts';
import { PasswordHasher } from '../../src/passwords/password-hasher.ts';
import { newClientSecret } from '../../src/protocol/client-secret.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import {
  challengeOf,
  DAY,
  exchangeForm,
  HOUR,
  type IssuedCode,
  MINUTE,
  newVerifier,
  type Reply,
  refreshForm,
  type TestClient,
  type TestUser,
} from './service.ts';

export const COMMAND = new URL('../../bin/postern', import.meta.url).pathname;
const START_DEADLINE_MS = 60_000;
const END_DEADLINE_MS = 30_000;

/** Whatever goes wrong in a test, no process of it is left behind: not even of one that goes on after its failure. */
const running = new Set<ChildProcess>();
let over = false;
export function endAll(): void {
  over = true;
  for (const child of running) child.kill('SIGKILL');
}
process.on('exit', endAll);

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'postern-test-'));
export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** What a command wrote and how it ended. */
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** A command line of the real bin/postern, with nothing in its environment but what is given. */
export class Command {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], settings: Record<string, string>, input = '') {
    assert.ok(!over, 'the tests of this file have ended');
    const env = { PATH: process.env.PATH, ...settings };
    this.child = spawn(COMMAND, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    running.add(this.child);
    this.child.stdin!.on('error', () => {});
    this.child.stdin!.end(input);
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(this.child, 'close').then(([code]) => {
      running.delete(this.child);
      return { code: code as number | null, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /** How it ended; a process that does not end is killed, and the test fails. */
  async end(deadlineMs = END_DEADLINE_MS): Promise<Ended> {
    const late = setTimeout(() => this.child.kill('SIGKILL'), deadlineMs);
    try {
      return await this.ended;
    } finally {
      clearTimeout(late);
    }
  }
}

/** The real service in a process of its own. */
export class Postern {
  readonly url: string;
  readonly port: number;
  readonly command: Command;

  private constructor(command: Command, port: number) {
    this.command = command;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(settings: Record<string, string>): Promise<Postern> {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const command = new Command(['serve'], { POSTERN_PORT: String(port), ...settings });
      if (await isListening(command)) return new Postern(command, port);
      const { code, stderr } = await command.end();
      // Somebody else may have taken the port in between.
      if (attempt === 3 || !stderr.includes('is in use')) assert.fail(`serve ended with ${code}: ${stderr}`);
    }
  }

  /** As a crash ends it. */
  async kill(): Promise<void> {
    this.command.child.kill('SIGKILL');
    await this.command.ended;
  }

  /** As an operator ends it. */
  async stop(): Promise<Ended> {
    this.command.child.kill('SIGTERM');
    return this.command.end();
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

  exchange(client: TestClient, code: IssuedCode): Promise<Reply> {
    return this.post('/oauth/token', exchangeForm(client, code));
  }

  refresh(client: TestClient, refreshToken: string): Promise<Reply> {
    return this.post('/oauth/token', refreshForm(client, refreshToken));
  }

  revoke({ clientId: client_id, clientSecret: client_secret }: TestClient, token: string): Promise<Reply> {
    return this.post('/oauth/revoke', { token, client_id, client_secret });
  }

  userinfo(accessToken: string): Promise<Reply> {
    return this.get('/oauth/userinfo', { authorization: `Bearer ${accessToken}` });
  }
}

async function reply(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** True when it says so; false when it ended instead. */
async function isListening(command: Command): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const look = () => {
    if (command.stderr.includes('Postern listens on')) resolve(true);
  };
  command.child.stderr!.on('data', look);
  void command.ended.then(() => resolve(false));
  const late = setTimeout(() => command.child.kill('SIGKILL'), START_DEADLINE_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    command.child.stderr!.off('data', look);
  }
}

/** A data folder with a user and an application, made through the store: codes and tokens come without pages. */
export class Prepared {
  readonly folder: string;
  readonly settings: Record<string, string>;
  readonly user: TestUser;
  readonly client: TestClient;
  readonly #keys: Keys;

  private constructor(folder: string, secret: string, user: TestUser, client: TestClient) {
    this.folder = folder;
    this.user = user;
    this.client = client;
    this.#keys = new Keyring(secret, Number.POSITIVE_INFINITY);
    this.settings = {
      POSTERN_DATA_DIR: folder,
      POSTERN_SECRET: secret,
      POSTERN_RATE_LIMIT: '1000000000',
    };
  }

  static async in(folder: string): Promise<Prepared> {
    const user = { id: newId(), email: 'ada@example.com', password: 'correct horse battery staple' };
    const client = {
      clientId: `app_${newId()}`,
      clientSecret: newClientSecret(),
      redirectUri: 'https://client.example/callback',
    };
    const prepared = new Prepared(folder, randomBytes(32).toString('base64url'), user, client);
    const passwordHash = await new PasswordHasher().hash(user.password);
    await prepared.withStore(async (store) => {
      await store.migrate();
      const now = Date.now();
      await store.users.create({ ...user, emailVerified: true, name: 'Ada', passwordHash, now });
      const scope = parseScope('profile email')!;
      await store.applications.create({
        clientId: client.clientId,
        ownerId: user.id,
        name: 'Test application',
        redirectUris: [client.redirectUri],
        scope,
        optionalScope: 0,
        secret: client.clientSecret,
        now,
      });
    });
    return prepared;
  }

  get databasePath(): string {
    return join(this.folder, 'postern.db');
  }

  async withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = openStore(`sqlite:${this.databasePath}`);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  codes(count: number): Promise<IssuedCode[]> {
    return this.withStore((store) => Promise.all(Array.from({ length: count }, () => this.#code(store))));
  }

  /** Tokens as an exchange gives them. */
  tokens(count: number): Promise<{ access_token: string; refresh_token: string }[]> {
    return this.withStore((store) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const now = Date.now();
          const { code, verifier } = await this.#code(store);
          const ref = this.#keys.tokenSigner.verifyCode(code)!;
          const redeemed = await store.grants.redeemCode({
            ref,
            clientId: this.client.clientId,
            redirectUri: this.client.redirectUri,
            codeChallenge: challengeOf(verifier),
            now,
            expiresAt: now + 30 * DAY,
          });
          assert.ok(redeemed.outcome === 'redeemed');
          const first = { ...ref, generation: 1 };
          const access = { ...first, expiresAt: now + HOUR, scope: redeemed.scope };
          return {
            access_token: this.#keys.tokenSigner.signAccessToken(access),
            refresh_token: this.#keys.tokenSigner.signRefreshToken(first),
          };
        }),
      ),
    );
  }

  async #code(store: Store): Promise<IssuedCode> {
    const verifier = newVerifier();
    const grantId = newId();
    const now = Date.now();
    await store.grants.create({
      userId: this.user.id,
      grantId,
      clientId: this.client.clientId,
      scope: parseScope('profile email')!,
      redirectUri: this.client.redirectUri,
      codeChallenge: challengeOf(verifier),
      now,
      expiresAt: now + 5 * MINUTE,
    });
    return {
      code: this.#keys.tokenSigner.signCode({ userId: this.user.id, grantId, generation: 0 }),
      verifier,
    };
  }
}

/** Asks again until it is so, for a long while: what is waited for takes well under a second when all is right. */
export async function eventually(isSo: () => Promise<boolean>, deadlineMs = 20_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await isSo())) {
    if (performance.now() > end) assert.fail(`not so after ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
