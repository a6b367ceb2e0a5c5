import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Keyring, type Keys } from '../../src/keys/keyring.ts';
import { PasswordHasher } from '../../src/passwords/password-hasher.ts';
import { newClientSecret } from '../../src/protocol/client-secret.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { parseScope } from '../../src/protocol/scope.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { newFolder, PosternProcess, removeFolder } from './postern-process.ts';
import {
  challengeOf,
  DAY,
  HOUR,
  type IssuedCode,
  MINUTE,
  newVerifier,
  type TestClient,
  type TestUser,
} from './service.ts';

/** A data folder with one user and one application. Codes and tokens are created in the store, without pages. */
export class PreparedData {
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

  static async in(folder: string): Promise<PreparedData> {
    const user = { id: newId(), email: 'ada@example.com', password: 'correct horse battery staple' };
    const client = {
      clientId: `app_${newId()}`,
      clientSecret: newClientSecret(),
      redirectUri: 'https://client.example/callback',
    };
    const prepared = new PreparedData(folder, randomBytes(32).toString('base64url'), user, client);
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

  /** Codes of a new user, up to 100: so many grants may one user have at one application. */
  codes(count: number): Promise<IssuedCode[]> {
    return this.withStore(async (store) => {
      const id = newId();
      const user = { id, email: `${id}@example.com`, emailVerified: true, name: 'Grace' };
      await store.users.create({ ...user, passwordHash: 'none', now: Date.now() });
      return Promise.all(Array.from({ length: count }, () => this.#code(store, id)));
    });
  }

  /** Access and refresh tokens of new grants, as if their codes had been exchanged. */
  tokens(count: number): Promise<{ access_token: string; refresh_token: string }[]> {
    return this.withStore((store) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const now = Date.now();
          const { code, verifier } = await this.#code(store, this.user.id);
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

  async #code(store: Store, userId: string): Promise<IssuedCode> {
    const verifier = newVerifier();
    const grantId = newId();
    const now = Date.now();
    await store.grants.create({
      userId,
      grantId,
      clientId: this.client.clientId,
      scope: parseScope('profile email')!,
      redirectUri: this.client.redirectUri,
      codeChallenge: challengeOf(verifier),
      now,
      expiresAt: now + 5 * MINUTE,
    });
    return {
      code: this.#keys.tokenSigner.signCode({ userId, grantId, generation: 0 }),
      verifier,
    };
  }
}

/** Runs the work against a new process with a prepared data folder, and removes both. */
export async function withPostern(
  work: (prepared: PreparedData, postern: PosternProcess) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  const folder = newFolder();
  let postern: PosternProcess | undefined;
  try {
    const prepared = await PreparedData.in(folder);
    postern = await PosternProcess.start({ ...prepared.settings, ...settings });
    await work(prepared, postern);
  } finally {
    await postern?.kill();
    removeFolder(folder);
  }
}
