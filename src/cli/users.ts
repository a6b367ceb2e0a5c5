import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { PasswordHasher } from '../passwords/password-hasher.ts';
import { passwordFault } from '../passwords/password-rules.ts';
import { newId } from '../protocol/credentials.ts';
import { emailFault } from '../protocol/email-address.ts';
import { nameFault } from '../protocol/name.ts';
import type { Store } from '../store/store.ts';
import type { User } from '../store/users.ts';
import { withStore } from './database.ts';
import {
  addAction,
  addGroup,
  CommandFailed,
  failOn,
  isoTime,
  listing,
  printable,
  type Result,
  readableTime,
  shellWord,
} from './output.ts';

const PASSWORD_HELP = 'the password; - reads it from standard input, left out it is asked for';
/** Far beyond the longest password: enough to tell that what comes in is none. */
const MAX_INPUT_LENGTH = 4096;
export function addUsersCommands(program: Command): void {
  const users = addGroup(program, 'users', 'create, list and change user accounts');

  const create = users
    .command('create')
    .description('create a user')
    .requiredOption('--email <email>', 'the address the user signs in with')
    .requiredOption('--name <name>', 'the name shown to the user and to applications')
    .option('--password <password>', PASSWORD_HELP)
    .option('--email-verified', 'the user is known to receive mail at this address')
    .addHelpText(
      'after',
      '\nExample:\n  bin/postern users create --email ada@example.com --name "Ada Lovelace"',
    );
  addAction(create, createUser);

  addAction(users.command('list').description('list all users'), listUsers);

  const disable = users
    .command('disable <email>')
    .description('shut a user out: no sign-in, and every token of theirs is refused');
  addAction(disable, (email: string) => setDisabled(email, true));

  const enable = users.command('enable <email>').description('let a disabled user in again');
  addAction(enable, (email: string) => setDisabled(email, false));

  const password = users
    .command('set-password <email>')
    .description('give a user a new password and sign them out of every browser')
    .option('--password <password>', PASSWORD_HELP)
    .addHelpText('after', '\nExample:\n  bin/postern users set-password ada@example.com');
  addAction(password, setPassword);

  const verify = users
    .command('verify-email <email>')
    .description('record that the user receives mail at their address');
  addAction(verify, verifyEmail);
}

type CreateOptions = { email: string; name: string; password?: string; emailVerified?: boolean };

async function createUser(options: CreateOptions): Promise<Result> {
  const email = options.email.trim();
  const name = options.name.trim();
  const faults = [emailFault(email), nameFault(name)].filter((fault) => fault !== undefined);
  // Nobody should type a password twice only to hear that the address has a typing error.
  if (options.password === undefined) failOn(faults, 'No user was created');
  const password = await readPassword(options.password);
  const fault = passwordFault(password, [email, name]);
  failOn(fault ? [...faults, fault] : faults, 'No user was created');

  const passwordHash = await new PasswordHasher().hash(password);
  return withStore(async ({ store }) => {
    const user = {
      id: newId(),
      email,
      emailVerified: options.emailVerified === true,
      name,
      passwordHash,
      now: Date.now(),
    };
    if ((await store.users.create(user)) === 'email_taken') {
      throw new CommandFailed(
        `There is a user with the e-mail ${email} already. See all with: bin/postern users list` +
          `\nFor a new password: bin/postern users set-password ${shellWord(email)}`,
      );
    }
    return {
      text:
        `Created ${name} <${email}>.\n\nNext, register an application of theirs:\n` +
        `  bin/postern apps create --name "My App" --owner ${shellWord(email)} --redirect-uri https://app.example/callback`,
      json: userJson(await known(store, email)),
    };
  });
}

function listUsers(): Promise<Result> {
  return withStore(async ({ store }) => {
    const users = await store.users.list();
    const rows = users.map((user) => [
      user.email,
      user.name ?? '',
      user.emailVerified ? 'yes' : 'no',
      user.disabledAt === null ? 'active' : 'disabled',
      readableTime(user.createdAt),
      user.id,
    ]);
    const whenEmpty =
      'There are no users yet. Create one:\n  bin/postern users create --email you@example.com --name "Your Name"';
    return {
      text: listing(['E-MAIL', 'NAME', 'VERIFIED', 'STATUS', 'CREATED', 'ID'], rows, whenEmpty),
      json: users.map(userJson),
    };
  });
}

function setDisabled(email: string, disabled: boolean): Promise<Result> {
  return withStore(async ({ store }) => {
    const user = await known(store, email);
    const state = disabled ? 'disabled' : 'enabled';
    if ((user.disabledAt !== null) === disabled) {
      return { text: `${printable(user.email)} is ${state} already.`, json: userJson(user) };
    }
    await store.users.setDisabled(user.id, disabled, Date.now());
    const effect = disabled
      ? ` They can no longer sign in, and applications can no longer act for them.\nTo undo it: bin/postern users enable ${shellWord(user.email)}`
      : ' They can sign in again.';
    return {
      text: `${printable(user.email)} is ${state}.${effect}`,
      json: userJson(await known(store, email)),
    };
  });
}

function setPassword(email: string, options: { password?: string }): Promise<Result> {
  return withStore(async ({ store }) => {
    const user = await known(store, email);
    const password = await readPassword(options.password);
    const fault = passwordFault(password, [user.email, user.name ?? '']);
    failOn(fault ? [fault] : [], 'The password was not changed');
    await store.users.setPassword(user.id, await new PasswordHasher().hash(password), Date.now());
    return {
      text: `${printable(user.email)} has a new password and is signed out of every browser.`,
      json: userJson(user),
    };
  });
}

function verifyEmail(email: string): Promise<Result> {
  return withStore(async ({ store }) => {
    const user = await known(store, email);
    await store.users.verifyEmail(user.id, Date.now());
    return { text: `${printable(user.email)} is verified.`, json: userJson(await known(store, email)) };
  });
}

async function known(store: Store, email: string): Promise<User> {
  const user = await store.users.findByEmail(email);
  if (user) return user;
  throw unknownUser(email);
}

/** A command that names nobody says how to find out who there is. */
export const unknownUser = (email: string): CommandFailed =>
  new CommandFailed(
    `There is no user with the e-mail ${printable(email)}. See all with: bin/postern users list`,
  );

function userJson(user: User) {
  return {
    id: user.id,
    email: user.email,
    email_verified: user.emailVerified,
    name: user.name,
    created_at: isoTime(user.createdAt),
    disabled: user.disabledAt !== null,
  };
}

/** As given, from standard input, or asked on the terminal: the last two keep it out of the shell's history. */
async function readPassword(given: string | undefined): Promise<string> {
  if (given !== undefined && given !== '-') return given;
  if (process.stdin.isTTY) return askPassword(process.stdin, process.stderr);
  if (given === '-') return readLine(process.stdin);
  throw new CommandFailed(
    'There is no terminal to ask for the password. Give it on standard input, with --password -',
  );
}

async function readLine(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_INPUT_LENGTH) break;
  }
  const line = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
  if (!/[\r\n]/.test(line)) return line;
  throw new CommandFailed('Standard input holds more than one line. Give it the password alone.');
}

/** Asks twice, because nobody sees what they type. Readline edits the line; its echo goes nowhere. */
export async function askPassword(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  const lines = reader[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    output.write(question);
    const { value, done } = await lines.next();
    output.write('\n');
    // Ctrl-C and Ctrl-D end the input.
    if (done) throw new CommandFailed('Cancelled: nothing was changed.');
    return value;
  };
  try {
    const password = await ask('Password: ');
    const fault = passwordFault(password);
    if (fault) throw new CommandFailed(`${fault} Nothing was changed.`);
    if ((await ask('The same again: ')) === password) return password;
    throw new CommandFailed('The two passwords differ: nothing was changed. Try again.');
  } finally {
    reader.close();
  }
}
