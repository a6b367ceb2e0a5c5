import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseOverlap } from '../../src/cli/duration-option.ts';
import { hashClientSecret } from '../../src/protocol/client-secret.ts';
import type { SqlOwnedApplications } from '../../src/store/owned-applications.ts';
import { addUser, Postern } from '../support/command-line.ts';

type SecretJson = {
  id: string;
  tail: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
};
type AppJson = {
  client_id: string;
  client_secret: string;
  name: string;
  created_at: string;
  disabled: boolean;
  secrets: SecretJson[];
};

const OWNER = 'ada@example.com';
const CALLBACK = 'https://photos.example/callback';
const CREATE = ['apps', 'create', '--name', 'Photo Wall', '--owner', OWNER, '--redirect-uri', CALLBACK];
const HOUR = 3_600_000;

describe('apps', { concurrency: 2 }, () => {
  const withOwner = async (postern: Postern): Promise<Postern> => {
    await postern.withStoreReady((store) => addUser(store, OWNER));
    return postern;
  };

  test('create prints the credentials once and an example authorization URL', async (t) => {
    const postern = await withOwner(new Postern(t));
    const empty = await postern.run(['apps', 'list']);
    assert.match(empty.stdout, /no applications yet.*\n {2}bin\/postern apps create /);

    const { code, stdout, stderr } = await postern.run(CREATE, {
      env: { POSTERN_BASE_URL: 'https://id.example' },
    });
    assert.deepEqual([code, stderr], [0, '']);
    const clientId = /^client_id +(app_[0-9a-f]{24})$/m.exec(stdout)?.[1];
    const secret = /^client_secret +(postern_cs_[A-Za-z0-9_-]{43})$/m.exec(stdout)?.[1];
    assert.ok(clientId && secret, stdout);
    assert.match(stdout, /shown only once/);
    const url = new URL(/https:\/\/id\.example\/oauth\/authorize\?\S+/.exec(stdout)![0]);
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: CALLBACK,
      scope: 'profile email',
      state: 'STATE',
      code_challenge: 'CODE_CHALLENGE',
      code_challenge_method: 'S256',
    });

    const application = await postern.withStore(async (store) => store.applications.find(clientId));
    assert.equal(application?.secrets[0]?.hash, hashClientSecret(secret));
    const bytes = postern.databaseBytes();
    assert.ok(bytes.includes(clientId));
    assert.ok(!bytes.includes(secret) && !bytes.includes(secret.slice('postern_cs_'.length)));
  });

  test('create --json has the documented shape, and show and list the same without the secret', async (t) => {
    const postern = await withOwner(new Postern(t));
    const second = 'http://localhost:4000/cb';
    const more = [
      '--redirect-uri',
      second,
      '--redirect-uri',
      CALLBACK,
      '--scope',
      'email profile',
      '--optional-scope',
      'email',
    ];
    const { client_secret, ...created } = await postern.json<AppJson>([...CREATE, ...more]);
    const { client_id, created_at, secrets, ...rest } = created;
    assert.deepEqual(rest, {
      name: 'Photo Wall',
      owner: OWNER,
      redirect_uris: [CALLBACK, second],
      scope: 'profile email',
      optional_scope: 'email',
      disabled: false,
    });
    assert.equal(new Date(created_at).toISOString(), created_at);
    const { id, ...secret } = secrets[0]!;
    assert.match(id, /^[A-Za-z0-9_-]{22}$/);
    assert.deepEqual(secret, {
      tail: client_secret.slice(-4),
      created_at,
      expires_at: null,
      last_used_at: null,
    });
    assert.deepEqual(await postern.json(['apps', 'show', client_id]), created);
    assert.deepEqual(await postern.json(['apps', 'list']), [created]);
  });

  test('every fault is reported on its own line, and nothing is created', async (t) => {
    const postern = new Postern(t);
    const uris = ['http://a.example/cb', 'https://*.example/', 'https://a.example/#x', 'myapp://cb'];
    const { code, stdout, stderr } = await postern.run([
      ...['apps', 'create', '--name', 'a\tb', '--owner', 'who@example.com', '--scope', 'profile,photos'],
      ...uris.flatMap((uri) => ['--redirect-uri', uri]),
    ]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.deepEqual(stderr.trimEnd().split('\n'), [
      'postern: No application was created:',
      '  - The name holds a control character: leave it out.',
      '  - The redirect URI http://a.example/cb uses plain http: allowed only for localhost, 127.0.0.1 and [::1].',
      '  - The redirect URI https://*.example/ holds a wildcard (*): register each address in full.',
      '  - The redirect URI https://a.example/#x holds a fragment (#…), which a redirect cannot carry.',
      '  - The redirect URI myapp://cb must begin with https://.',
      '  - --scope "profile,photos" contains an unknown scope. Known scopes: profile email (separate them with spaces).',
      '  - There is no user with the email who@example.com. See all with: bin/postern users list',
    ]);
    assert.deepEqual(await postern.json(['apps', 'list']), []);
  });

  test('at most 20 redirect URIs, at least one scope, and optional scopes among the requested ones', async (t) => {
    const postern = await withOwner(new Postern(t));
    const uris = (count: number) =>
      Array.from({ length: count }, (_, n) => ['--redirect-uri', `https://a.example/${n}`]).flat();
    const base = ['apps', 'create', '--name', 'X', '--owner', OWNER];
    assert.match(
      (await postern.run([...base, ...uris(21)])).stderr,
      /There are 21 redirect URIs: .* at most 20\./,
    );
    assert.equal((await postern.run([...base, ...uris(20)])).code, 0);
    assert.match((await postern.run([...CREATE, '--scope', ''])).stderr, /at least one scope/);
    const beyond = await postern.run([...CREATE, '--scope', 'profile', '--optional-scope', 'email']);
    assert.match(beyond.stderr, /--optional-scope may only contain scopes that --scope contains/);
  });

  test('list and show are readable', async (t) => {
    const postern = await withOwner(new Postern(t));
    const { client_id, client_secret } = await postern.json<AppJson>([
      ...CREATE,
      '--optional-scope',
      'email',
    ]);
    const list = await postern.run(['apps', 'list']);
    assert.match(
      list.stdout,
      /^CLIENT ID +NAME +OWNER +SCOPE +STATUS +CREATED\napp_\S+ {2}Photo Wall {2}ada@example\.com {2}profile email {2}active {2}/,
    );
    const show = await postern.run(['apps', 'show', client_id]);
    assert.match(show.stdout, /^Photo Wall\n {2}client_id +app_/);
    assert.match(show.stdout, /^ {2}scope +profile email \(optional: email\)$/m);
    assert.match(show.stdout, /^ {2}redirect URIs +https:\/\/photos\.example\/callback$/m);
    assert.ok(show.stdout.includes(`…${client_secret.slice(-4)}, created `));
  });

  test('disable and enable', async (t) => {
    const postern = await withOwner(new Postern(t));
    const { client_id } = await postern.json<AppJson>(CREATE);
    const disabled = await postern.run(['apps', 'disable', client_id]);
    assert.ok(disabled.stdout.startsWith('Photo Wall is disabled.'));
    assert.ok(disabled.stdout.endsWith(`bin/postern apps enable ${client_id}\n`));
    assert.equal(
      (await postern.run(['apps', 'disable', client_id])).stdout,
      'Photo Wall is already disabled.\n',
    );
    assert.equal((await postern.json<AppJson>(['apps', 'show', client_id])).disabled, true);
    assert.equal((await postern.json<AppJson>(['apps', 'enable', client_id])).disabled, false);
  });

  test('disable takes over what the owner disabled, so that the owner cannot enable it', async (t) => {
    const postern = await withOwner(new Postern(t));
    const { client_id } = await postern.json<AppJson>(CREATE);
    const asOwner = <T>(work: (applications: SqlOwnedApplications) => Promise<T>) =>
      postern.withStore(async ({ applications, ownedApplications }) => {
        const application = await applications.find(client_id);
        return work(ownedApplications(application!.ownerId));
      });
    assert.equal(await asOwner((own) => own.disable(client_id, Date.now())), true);
    const { stdout } = await postern.run(['apps', 'disable', client_id]);
    assert.ok(stdout.startsWith('Photo Wall is disabled.'));
    assert.equal(await asOwner((own) => own.enable(client_id, Date.now())), false);
    assert.equal((await postern.json<AppJson>(['apps', 'enable', client_id])).disabled, false);
  });

  test('rotate-secret keeps the earlier secret for the overlap: one day by default', async (t) => {
    const postern = await withOwner(new Postern(t));
    const { client_id } = await postern.json<AppJson>(CREATE);
    const lives = async (...overlap: string[]): Promise<number[]> => {
      const rotated = await postern.json<AppJson>(['apps', 'rotate-secret', client_id, ...overlap]);
      const newest = rotated.secrets.at(-1)!;
      assert.equal(newest.tail, rotated.client_secret.slice(-4));
      assert.equal(newest.expires_at, null);
      return rotated.secrets
        .slice(0, -1)
        .map(({ expires_at }) => Date.parse(expires_at!) - Date.parse(newest.created_at));
    };
    assert.deepEqual(await lives(), [24 * HOUR]);
    // At most two secrets are active: of the earlier ones, only the latest keeps working.
    assert.deepEqual(await lives('--overlap', '30m'), [HOUR / 2]);
    assert.deepEqual(await lives('--overlap', '0'), [0]);
    assert.deepEqual(await lives('--overlap', '30d'), [30 * 24 * HOUR]);
  });

  test('an overlap that is too long changes nothing', async (t) => {
    const postern = await withOwner(new Postern(t));
    const { client_id } = await postern.json<AppJson>(CREATE);
    const { code, stderr } = await postern.run([
      'apps',
      'rotate-secret',
      client_id,
      '--overlap',
      '31d',
      '--json',
    ]);
    assert.equal(code, 1);
    assert.match(
      (JSON.parse(stderr) as { error: string }).error,
      /0 or a duration such as 30m, 24h or 7d, at most 30d/,
    );
    assert.equal((await postern.json<AppJson>(['apps', 'show', client_id])).secrets.length, 1);
  });

  test('delete asks for confirmation; without a terminal it needs --yes', async (t) => {
    const postern = await withOwner(new Postern(t));
    const { client_id } = await postern.json<AppJson>(CREATE);
    const refused = await postern.run(['apps', 'delete', client_id], { input: 'Photo Wall\n' });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Photo Wall was not deleted: .*--yes/);
    assert.deepEqual(await postern.json(['apps', 'delete', client_id, '--yes']), {
      client_id,
      deleted: true,
    });
    assert.deepEqual(await postern.json(['apps', 'list']), []);
  });

  test('a playground application is not deleted: its owner would get it back', async (t) => {
    const postern = await withOwner(new Postern(t));
    const clientId = `playground_${'0'.repeat(24)}`;
    await postern.withStore(({ applications }) =>
      applications.create({
        clientId,
        ownerId: 'owner',
        name: 'Playground',
        redirectUris: ['https://client.example/callback'],
        scope: 1,
        optionalScope: 0,
        secret: 'a secret',
        now: 0,
      }),
    );
    const { code, stderr } = await postern.run(['apps', 'delete', clientId, '--yes']);
    assert.equal(code, 1);
    assert.match(stderr, /Disable it instead/);
    assert.equal((await postern.json<AppJson>(['apps', 'show', clientId])).client_id, clientId);
  });

  test('an unknown application fails and says how to find the right one', async (t) => {
    const postern = new Postern(t);
    for (const command of [['show'], ['disable'], ['rotate-secret'], ['delete', '--yes']]) {
      const { code, stdout, stderr } = await postern.run(['apps', ...command, 'app_none']);
      assert.deepEqual([code, stdout], [1, '']);
      assert.equal(
        stderr,
        'postern: There is no application app_none. See all with: bin/postern apps list\n',
      );
    }
  });
});

test('an overlap is 0 or a number of minutes, hours or days, at most 30 days', () => {
  assert.deepEqual(['0', '0m', '30m', '24h', '7d', '720h', '30d'].map(parseOverlap), [
    0,
    0,
    HOUR / 2,
    24 * HOUR,
    7 * 24 * HOUR,
    30 * 24 * HOUR,
    30 * 24 * HOUR,
  ]);
  for (const text of ['', '31d', '721h', '99999d', '-1h', '1.5h', '24', 'h', '1w', '1h ', '1h30m']) {
    assert.throws(() => parseOverlap(text), /at most 30d/, text);
  }
});
