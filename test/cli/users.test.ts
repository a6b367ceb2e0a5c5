import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { askPassword } from '../../src/cli/terminal-input.ts';
import { PasswordHasher } from '../../src/passwords/password-hasher.ts';
import { addUser, Postern } from '../support/command-line.ts';

type UserJson = {
  id: string;
  email: string;
  email_verified: boolean;
  name: string;
  created_at: string;
  disabled: boolean;
};

const ADA = 'ada@example.com';
const CREATE = ['users', 'create', '--email', ADA, '--name', 'Ada Lovelace'];

describe('users', { concurrency: 2 }, () => {
  test('create prints the user and the next step, and list shows the user', async (t) => {
    const postern = new Postern(t);
    const empty = await postern.run(['users', 'list']);
    assert.match(empty.stdout, /no users yet.*\n {2}bin\/postern users create /);

    const created = await postern.run([...CREATE, '--password', 'correct horse']);
    assert.equal(created.code, 0);
    assert.match(created.stdout, /^Created Ada Lovelace <ada@example\.com>\.$/m);
    assert.match(created.stdout, /bin\/postern apps create .*--owner ada@example\.com/);
    assert.equal(created.stderr, '');

    const list = await postern.run(['users', 'list']);
    assert.match(
      list.stdout,
      /^EMAIL +NAME +VERIFIED +STATUS +CREATED +ID\nada@example\.com +Ada Lovelace +no +active +\S/,
    );
  });

  test('create --json prints the user, never the hash', async (t) => {
    const postern = new Postern(t);
    const user = await postern.json<UserJson>([...CREATE, '--password', 'correct horse', '--email-verified']);
    const { id, created_at, ...rest } = user;
    assert.match(id, /^[A-Za-z0-9_-]{22}$/);
    assert.equal(new Date(created_at).toISOString(), created_at);
    assert.deepEqual(rest, { email: ADA, email_verified: true, name: 'Ada Lovelace', disabled: false });
    assert.deepEqual(await postern.json(['users', 'list']), [user]);
  });

  test('every fault is reported at once, and nothing is created', async (t) => {
    const postern = new Postern(t);
    const bad = ['users', 'create', '--email', 'ada@localhost', '--name', ' ', '--password', 'short'];
    const { code, stdout, stderr } = await postern.run(bad);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.equal(
      stderr,
      'postern: No user was created:\n' +
        '  - "ada@localhost" is not an e-mail address such as ada@example.com.\n' +
        '  - The name must have 1 to 80 characters.\n' +
        '  - The password needs at least 8 characters.\n',
    );
    assert.deepEqual(await postern.json(['users', 'list']), []);
  });

  test('an email address is unique regardless of case', async (t) => {
    const postern = new Postern(t);
    await postern.withStoreReady((store) => addUser(store, ADA));
    const again = [
      'users',
      'create',
      '--email',
      'ADA@Example.com',
      '--name',
      'B',
      '--password',
      'correct horse',
      '--json',
    ];
    const { code, stdout, stderr } = await postern.run(again);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match((JSON.parse(stderr) as { error: string }).error, /already.*bin\/postern users list/s);
  });

  test('a password is read from standard input, and only its hash is stored', async (t) => {
    const postern = new Postern(t);
    await postern.json([...CREATE, '--password', '-'], { input: 'correct horse battery\n' });
    const user = await postern.withStore((store) => store.users.findByEmail(ADA));
    assert.ok(await new PasswordHasher().verify('correct horse battery', user?.passwordHash));
    const bytes = postern.databaseBytes();
    assert.ok(bytes.includes(ADA));
    assert.ok(!bytes.includes('correct horse'));
  });

  test('standard input must be a single line; without a terminal, the password must come from there', async (t) => {
    const postern = new Postern(t);
    const two = await postern.run([...CREATE, '--password', '-'], {
      input: 'correct horse\nbattery staple\n',
    });
    assert.equal(two.code, 1);
    assert.match(two.stderr, /more than one line/);
    const none = await postern.run(CREATE);
    assert.equal(none.code, 1);
    assert.match(none.stderr, /no terminal.*--password -/);
  });

  test('disable, enable and verify-email change the user and say so', async (t) => {
    const postern = new Postern(t);
    await postern.withStoreReady((store) => addUser(store, ADA));
    const disabled = await postern.run(['users', 'disable', 'ADA@example.com']);
    assert.match(disabled.stdout, /is disabled\..*bin\/postern users enable ada@example\.com/s);
    const again = await postern.run(['users', 'disable', ADA]);
    assert.deepEqual([again.code, again.stdout], [0, 'ada@example.com is already disabled.\n']);
    assert.match((await postern.run(['users', 'list'])).stdout, / no +disabled /);
    assert.equal((await postern.json<UserJson>(['users', 'enable', ADA])).disabled, false);
    assert.equal((await postern.json<UserJson>(['users', 'verify-email', ADA])).email_verified, true);
  });

  test('set-password changes the password and ends the browser sessions', async (t) => {
    const postern = new Postern(t);
    const now = Date.now();
    await postern.withStoreReady(async (store) => {
      const userId = await addUser(store, ADA);
      await store.sessions.create({
        idHash: 's',
        userId,
        now,
        expiresAt: now + 60_000,
        address: '',
        userAgent: '',
      });
    });
    const short = await postern.run(['users', 'set-password', ADA, '--password', 'short']);
    assert.equal(
      short.stderr,
      'postern: The password was not changed:\n  - The password needs at least 8 characters.\n',
    );
    const { code } = await postern.run(['users', 'set-password', ADA, '--password', '-'], {
      input: 'battery staple',
    });
    assert.equal(code, 0);
    await postern.withStore(async (store) => {
      assert.ok(
        await new PasswordHasher().verify(
          'battery staple',
          (await store.users.findByEmail(ADA))?.passwordHash,
        ),
      );
      assert.equal(await store.sessions.findUser('s', now), undefined);
    });
  });

  test('an unknown email fails and says how to find the right one', async (t) => {
    const postern = new Postern(t);
    for (const command of ['disable', 'set-password', 'verify-email']) {
      const { code, stderr } = await postern.run(['users', command, 'who@example.com']);
      assert.equal(code, 1);
      assert.equal(
        stderr,
        'postern: There is no user with the email who@example.com. See all with: bin/postern users list\n',
      );
    }
  });

  test('a name from a stranger cannot control the terminal', async (t) => {
    const postern = new Postern(t);
    await postern.withStoreReady((store) => addUser(store, ADA, 'x\x1b[2J\u009b31m'));
    const list = await postern.run(['users', 'list']);
    const json = await postern.run(['users', 'list', '--json']);
    assert.doesNotMatch(list.stdout + json.stdout, /[^\P{Cc}\n]/u);
    assert.equal((JSON.parse(json.stdout) as UserJson[])[0]?.name, 'x\x1b[2J\u009b31m');
  });
});

describe('asking for a password', () => {
  const typed = (keys: string) => {
    const input = new PassThrough();
    const output = new PassThrough();
    const shown = text(output);
    input.end(keys);
    return { shown, password: askPassword(input, output).finally(() => output.end()) };
  };

  test('asks twice, allows corrections, and echoes nothing', async () => {
    const { shown, password } = typed('correct horsx\x7fe\rcorrect horse\r');
    assert.equal(await password, 'correct horse');
    assert.equal(await shown, 'Password: \nRepeat the password: \n');
  });

  test('rejects a bad password before asking again, and two that differ', async () => {
    await assert.rejects(typed('short\r').password, /at least 8 characters/);
    await assert.rejects(typed('correct horse\rcorrect house\r').password, /differ/);
  });

  test('Ctrl-C and the end of input cancel', async () => {
    await assert.rejects(typed('corr\x03').password, /Cancelled/);
    await assert.rejects(typed('').password, /Cancelled/);
  });
});
