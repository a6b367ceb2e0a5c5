import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { deriveSigningKey } from '../../src/protocol/credentials.ts';
import { eventually } from '../support/eventually.ts';
import { Command, endAll, newFolder, PosternProcess, removeFolder } from '../support/postern-process.ts';
import {
  authorizePath,
  exchangeForm,
  hiddenFields,
  newVerifier,
  refreshForm,
  type Service,
  type TestClient,
  type Tokens,
  Visitor,
} from '../support/service.ts';

/** Uses every feature once, then searches all files for secrets. */
const EMAIL = 'ada@example.com';
const PASSWORDS = ['first correct horse', 'second battery staple', 'a wrong guess at it'];
const REDIRECT_URI = 'https://client.example/callback';

const folder = newFolder();
const data = join(folder, 'data');
const databasePath = join(data, 'postern.db');
const settings = {
  POSTERN_DATA_DIR: data,
  POSTERN_RATE_LIMIT: '1000000000',
  POSTERN_LOG_LEVEL: 'trace',
};

/** Every secret that was ever used, by its description. */
const secrets = new Map<string, string>();
let count = 0;
function secret<T extends string>(what: string, text: T): T {
  secrets.set(`${what} ${++count}`, text);
  return text;
}

let postern: PosternProcess;
let masterSecret: string;
let client: TestClient;
/** Valid to the end: no attempt of a thief may affect them. */
let live: Tokens;
let unusedCode: { code: string; verifier: string };

/** The database files of the running service by suffix, and its complete log. */
const stolen = new Map<string, Buffer>();
let log: string;

before(async () => {
  postern = await PosternProcess.start(settings);
  masterSecret = secret('the key', readFileSync(join(data, 'secret'), 'utf8').trim());
  await useEveryFeature();
  for (const ending of ['', '-wal', '-shm']) stolen.set(ending, readFileSync(databasePath + ending));
  const { code, stdout, stderr } = await postern.stop();
  assert.equal(code, 0);
  log = stdout + stderr;
  postern = await PosternProcess.start(settings);
});
after(async () => {
  endAll();
  await postern?.kill();
  removeFolder(folder);
});

async function command(args: readonly string[], input = ''): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await new Command([...args, '--json'], settings, input).end();
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function useEveryFeature(): Promise<void> {
  const [first, second, wrong] = PASSWORDS.map((text) => secret('a password', text)) as [
    string,
    string,
    string,
  ];
  const user = await command(
    ['users', 'create', '--email', EMAIL, '--name', 'Ada', '--password', '-', '--email-verified'],
    `${first}\n`,
  );
  const created = await command([
    ...['apps', 'create', '--name', 'Test', '--owner', EMAIL, '--redirect-uri', REDIRECT_URI],
  ]);
  const oldSecret = secret('a client secret', String(created.client_secret));
  client = { clientId: String(created.client_id), clientSecret: oldSecret, redirectUri: REDIRECT_URI };

  const visitor = new Visitor(postern as unknown as Service, {
    id: String(user.id),
    email: EMAIL,
    password: first,
  });
  const keepCookies = () => {
    for (const [name, value] of visitor.cookies) secret(`the cookie ${name}`, value);
  };
  assert.equal((await visitor.signIn('/login', wrong)).status, 400);
  keepCookies();
  assert.equal((await visitor.signIn()).status, 303);
  keepCookies();

  const tokens = await connect(visitor);
  const refreshed = await refresh(tokens);
  await refresh(refreshed, { scope: 'email' });
  // A reused refresh token and a replayed code, which revoke one grant each.
  assert.equal((await postern.refresh(client, tokens.refresh_token)).status, 400);
  const replayed = await authorize(visitor);
  keep(await postern.post('/oauth/token', exchangeForm(client, replayed)));
  const wrongVerifier = secret('a verifier', newVerifier());
  for (const verifier of [wrongVerifier, replayed.verifier])
    await postern.post('/oauth/token', exchangeForm(client, { ...replayed, verifier }));

  const revoked = await connect(visitor);
  assert.equal((await postern.userinfo(revoked.access_token)).status, 200);
  await postern.revoke(client, revoked.access_token);
  await postern.revoke(client, revoked.refresh_token);

  // Secrets in wrong places, as careless clients send them.
  const astray = await connect(visitor);
  await postern.get(`/oauth/userinfo?access_token=${astray.access_token}`);
  await postern.get(`/nowhere/${astray.access_token}?token=${astray.refresh_token}`);
  await postern.get(`/login?return_to=/${astray.access_token}`);
  await postern.userinfo(astray.refresh_token);
  await postern.post(`/oauth/token?code=${astray.refresh_token}`, refreshForm(client, astray.access_token));
  await postern.post('/oauth/token', { ...refreshForm(client, 'x'), grant_type: astray.refresh_token });
  await postern.post('/oauth/token', { client_id: oldSecret, client_secret: first });
  const basic = Buffer.from(`${client.clientId}:${oldSecret}`).toString('base64');
  await postern.post('/oauth/revoke', { token: astray.access_token }, { authorization: `Basic ${basic}` });
  secret('Basic credentials', basic);

  // A new password ends the session; without an overlap only the new client secret works.
  await command(['users', 'set-password', EMAIL, '--password', '-'], `${second}\n`);
  const page = await visitor.get(authorizePath(client, newVerifier()));
  assert.match(page.headers.get('location') ?? '', /^\/login/);
  assert.equal((await visitor.signIn('/login', second)).status, 303);
  keepCookies();
  const rotated = await command(['apps', 'rotate-secret', client.clientId, '--overlap', '0']);
  client = { ...client, clientSecret: secret('a client secret', String(rotated.client_secret)) };

  await eventually(async () => (await postern.revoke(client, 'x')).status === 200);
  live = await refresh(await connect(visitor));
  unusedCode = await authorize(visitor);

  // Unexpected errors are logged with details.
  renameSync(databasePath, `${databasePath}.parked`);
  assert.equal((await postern.refresh(client, live.refresh_token)).status, 503);
  assert.equal((await postern.exchange(client, unusedCode)).status, 503);
  await eventually(async () => (await postern.userinfo(live.access_token)).status === 503);
  assert.equal((await visitor.get('/login')).status, 503);
  renameSync(`${databasePath}.parked`, databasePath);
  await eventually(async () => (await postern.userinfo(live.access_token)).status === 200);
}

async function authorize(visitor: Visitor): Promise<{ code: string; verifier: string }> {
  const verifier = secret('a verifier', newVerifier());
  const state = secret('a state', newVerifier());
  const shown = await visitor.get(authorizePath(client, verifier, { state }));
  const fields = hiddenFields(shown.text);
  for (const value of Object.values(fields)) secret('a form’s signature', value.split('.').at(-1)!);
  const response = await visitor.post('/oauth/authorize', { ...fields, decision: 'allow' });
  const code = new URL(response.headers.get('location')!).searchParams.get('code')!;
  return { code: secret('a code', code), verifier };
}

function keep({
  status,
  body,
  text,
}: {
  status: number;
  body: Record<string, unknown>;
  text: string;
}): Tokens {
  assert.equal(status, 200, text);
  const tokens = body as Tokens;
  secret('an access token', tokens.access_token);
  secret('a refresh token', tokens.refresh_token);
  return tokens;
}

const connect = async (visitor: Visitor): Promise<Tokens> =>
  keep(await postern.post('/oauth/token', exchangeForm(client, await authorize(visitor))));

const refresh = async (tokens: Tokens, changes: Record<string, string> = {}): Promise<Tokens> =>
  keep(await postern.post('/oauth/token', refreshForm(client, tokens.refresh_token, changes)));

const TAG_LENGTH = 22;

/** Every encoding in which a secret could be stored. */
function spellings(text: string): Map<string, Buffer> {
  const parts = new Map([['itself', text]]);
  const body = text.replace(/^postern_[a-z]+_/, '');
  if (body !== text) parts.set('without its prefix', body);
  if (/^postern_(at|rt|code)_/.test(text)) {
    parts.set('its tag', body.slice(-TAG_LENGTH));
    parts.set('its payload', body.slice(0, -TAG_LENGTH));
  }
  const found = new Map<string, Buffer>();
  for (const [name, part] of parts) {
    found.set(name, Buffer.from(part));
    found.set(`${name}, percent-encoded`, Buffer.from(encodeURIComponent(part)));
    found.set(`${name} in base64`, Buffer.from(Buffer.from(part).toString('base64').replaceAll('=', '')));
    if (!/^[\w-]{20,}$/.test(part)) continue;
    const bytes = Buffer.from(part, 'base64url');
    found.set(`${name}, decoded`, bytes);
    found.set(`${name}, decoded, in hex`, Buffer.from(bytes.toString('hex')));
    found.set(`${name}, decoded, in base64`, Buffer.from(bytes.toString('base64').replaceAll('=', '')));
  }
  return found;
}

function assertClean(where: string, bytes: Buffer): void {
  for (const [what, text] of secrets) {
    for (const [spelling, needle] of spellings(text))
      assert.ok(!bytes.includes(needle), `${where} holds ${what} (${spelling})`);
  }
  for (const number of [0, 1, 2])
    assert.ok(
      !bytes.includes(deriveSigningKey(Buffer.from(masterSecret), number)),
      `${where} holds a signing key`,
    );
}

describe('a stolen database', () => {
  test('contains no secret in plain text', () => {
    assert.ok(secrets.size > 40);
    const all = Buffer.concat([...stolen.values()]);
    // Public values are found, so the search works; a session is stored as a hash.
    assert.ok(all.includes(EMAIL) && all.includes(client.clientId));
    const session = [...secrets].findLast(([what]) => what.startsWith('the cookie postern_session'))![1];
    assert.ok(all.includes(createHash('sha256').update(session).digest('hex')));
    for (const [ending, bytes] of stolen) assertClean(`postern.db${ending}`, bytes);
  });

  test('has no value that works as a credential or as a key for one', {
    timeout: 120_000,
  }, async () => {
    const { values, grant } = readAll();
    assert.ok(values.length > 50);
    const cookie = (text: string) => ({ cookie: `postern_session=${text}; postern_browser=${text}` });
    const path = authorizePath(client, newVerifier());

    /** The thief also has a client's credentials. */
    const refused = {
      access: async (text: string) => {
        const { status } = await postern.userinfo(text);
        assert.equal(status, 401, `accepted as an access token: ${text}`);
      },
      refresh: async (text: string) => {
        const { status, body } = await postern.refresh(client, text);
        assert.deepEqual([status, body.error], [400, 'invalid_grant'], `as a refresh token: ${text}`);
      },
      code: async (text: string) => {
        const { verifier } = unusedCode;
        const { status, body } = await postern.exchange(client, { code: text, verifier });
        assert.deepEqual([status, body.error], [400, 'invalid_grant'], `as a code: ${text}`);
      },
    };
    for (const value of values) {
      await refused.access(value);
      await refused.refresh(value);
      await refused.code(value);
      const asSecret = await postern.post('/oauth/revoke', {
        ...{ client_id: client.clientId, client_secret: value, token: 'x' },
      });
      assert.equal(asSecret.status, 401, `accepted as a client secret: ${value}`);
      if (!/^[\x20-\x7e]*$/.test(value)) continue;
      const page = await postern.get(path, cookie(encodeURIComponent(value)));
      assert.match(page.headers.get('location') ?? '', /^\/login/, `accepted as a session: ${value}`);
    }

    const challenge = values.find((value) => value === sha256(unusedCode.verifier));
    assert.ok(challenge);
    const withChallenge = await postern.exchange(client, { ...unusedCode, verifier: challenge });
    assert.equal(withChallenge.body.error, 'invalid_grant');

    // Signed with every possible key: empty, each stored value, and the keys derived from them.
    for (const value of ['', ...values]) {
      for (const key of [Buffer.from(value), deriveSigningKey(Buffer.from(value), 1)]) {
        await refused.access(forge('access', grant, key));
        await refused.refresh(forge('refresh', grant, key));
        await refused.code(forge('code', grant, key));
      }
    }
    // With the real key the forgery equals the issued token, so only the key was wrong.
    assert.equal(forge('refresh', grant, deriveSigningKey(Buffer.from(masterSecret), 1)), live.refresh_token);
    assert.equal((await postern.userinfo(live.access_token)).status, 200);
    keep(await postern.refresh(client, live.refresh_token));
    assert.equal((await postern.exchange(client, unusedCode)).status, 200);
  });

  test('has password hashes that do not work as passwords', async () => {
    const { values } = readAll();
    const hashes = values.filter((value) => value.startsWith('$argon2id$'));
    // The user's password and the fingerprint of the service's secret.
    assert.equal(hashes.length, 2);
    const visitor = new Visitor(postern as unknown as Service, { id: '', email: EMAIL, password: '' });
    for (const hash of hashes) assert.equal((await visitor.signIn('/login', hash)).status, 400);
    assert.equal((await visitor.signIn('/login', PASSWORDS[0])).status, 400);
    assert.equal((await visitor.signIn('/login', PASSWORDS[1])).status, 303);
  });

  test('comes with a log that has no secrets either, but every event', () => {
    assert.match(log, /"path":"\/oauth\/token","status":200/);
    assert.match(log, /"status":503/);
    assert.match(log, /DatabaseUnavailable/);
    assert.match(log, new RegExp(`"client_id":"${client.clientId}"`));
    assertClean('the log', Buffer.from(log));
  });
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

type Grant = { user_id: string; id: string; generation: number };

/** Every value of every row of the stolen copy, and the row of the live tokens' grant. */
function readAll(): { values: string[]; grant: Grant } {
  const copy = join(folder, 'stolen.db');
  for (const [ending, bytes] of stolen) writeFileSync(copy + ending, bytes);
  const db = new DatabaseSync(copy);
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const rows = tables.flatMap(({ name }) => db.prepare(`SELECT * FROM "${name}"`).all());
    const values = new Set(
      rows
        .flatMap((row) => Object.values(row))
        .filter((value) => value !== null)
        .map(String),
    );
    const grant = db
      .prepare('SELECT user_id, id, generation FROM grants WHERE generation = 2 AND revoked_at IS NULL')
      .all();
    return { values: [...values].filter(Boolean), grant: grant.at(-1) as Grant };
  } finally {
    db.close();
  }
}

/** An independent implementation of the credential format (decision 003). */
function forge(kind: 'access' | 'refresh' | 'code', grant: Grant, key: Buffer): string {
  const { byte, prefix } = {
    code: { byte: 1, prefix: 'postern_code_' },
    refresh: { byte: 2, prefix: 'postern_rt_' },
    access: { byte: 3, prefix: 'postern_at_' },
  }[kind];
  const numbers = Buffer.alloc(4);
  numbers.writeUInt32BE(kind === 'code' ? 0 : grant.generation);
  const expiryAndScope = Buffer.alloc(9);
  expiryAndScope.writeUIntBE(Date.now() + 3_600_000, 0, 6);
  expiryAndScope.writeUIntBE(3, 6, 3);
  const payload = Buffer.concat([
    Buffer.from([byte, 0, 1]),
    Buffer.from(grant.user_id, 'base64url'),
    Buffer.from(grant.id, 'base64url'),
    numbers,
    ...(kind === 'access' ? [expiryAndScope] : []),
  ]);
  const tag = createHmac('sha256', key).update(payload).digest('base64url').slice(0, TAG_LENGTH);
  return prefix + payload.toString('base64url') + tag;
}
