import type { Command } from 'commander';
import { PasswordHasher } from '../passwords/password-hasher.ts';
import { passwordFault } from '../passwords/password-rules.ts';
import { newId } from '../protocol/credentials.ts';
import { emailFault } from '../protocol/email-address.ts';
import { nameFault } from '../protocol/name.ts';
import type { User } from '../store/users.ts';
import { withStore } from './database.ts';
import { requireUser } from './find-user.ts';
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
import { readPassword } from './terminal-input.ts';

const PASSWORD_HELP = 'the password; - reads it from standard input; if omitted, you are asked for it';

export function addUsersCommands(program: Command): void {
  const users = addGroup(program, 'users', 'create, list and change user accounts');

  const create = users
    .command('create')
    .description('create a user')
    .requiredOption('--email <email>', 'the email address the user signs in with')
    .requiredOption('--name <name>', 'the name shown to the user and to applications')
    .option('--password <password>', PASSWORD_HELP)
    .option('--email-verified', 'mark the email address as verified')
    .addHelpText(
      'after',
      '\nExample:\n  bin/postern users create --email ada@example.com --name "Ada Lovelace"',
    );
  addAction(create, createUser);

  addAction(users.command('list').description('list all users'), listUsers);

  const disable = users
    .command('disable <email>')
    .description('refuse a user: no sign-in, and all tokens issued for them are refused');
  addAction(disable, (email: string) => setDisabled(email, true));

  const enable = users.command('enable <email>').description('let a disabled user sign in again');
  addAction(enable, (email: string) => setDisabled(email, false));

  const password = users
    .command('set-password <email>')
    .description('set a new password and sign the user out of every browser')
    .option('--password <password>', PASSWORD_HELP)
    .addHelpText('after', '\nExample:\n  bin/postern users set-password ada@example.com');
  addAction(password, setPassword);

  const verify = users.command('verify-email <email>').description("mark a user's email address as verified");
  addAction(verify, verifyEmail);
}

type CreateOptions = { email: string; name: string; password?: string; emailVerified?: boolean };

async function createUser(options: CreateOptions): Promise<Result> {
  const email = options.email.trim();
  const name = options.name.trim();
  const faults = [emailFault(email), nameFault(name)].filter((fault) => fault !== undefined);
  // Report a mistyped address before asking for a password twice.
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
        `There is already a user with the email ${email}. See all with: bin/postern users list` +
          `\nTo set a new password: bin/postern users set-password ${shellWord(email)}`,
      );
    }
    return {
      text:
        `Created ${name} <${email}>.\n\nNext, register an application for them:\n` +
        `  bin/postern apps create --name "My App" --owner ${shellWord(email)} --redirect-uri https://app.example/callback`,
      json: userJson(await requireUser(store, email)),
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
      text: listing(['EMAIL', 'NAME', 'VERIFIED', 'STATUS', 'CREATED', 'ID'], rows, whenEmpty),
      json: users.map(userJson),
    };
  });
}

function setDisabled(email: string, disabled: boolean): Promise<Result> {
  return withStore(async ({ store }) => {
    const user = await requireUser(store, email);
    const state = disabled ? 'disabled' : 'enabled';
    if ((user.disabledAt !== null) === disabled) {
      return { text: `${printable(user.email)} is already ${state}.`, json: userJson(user) };
    }
    await store.users.setDisabled(user.id, disabled, Date.now());
    const effect = disabled
      ? ` They can no longer sign in, and applications can no longer act for them.\nTo undo it: bin/postern users enable ${shellWord(user.email)}`
      : ' They can sign in again.';
    return {
      text: `${printable(user.email)} is ${state}.${effect}`,
      json: userJson(await requireUser(store, email)),
    };
  });
}

function setPassword(email: string, options: { password?: string }): Promise<Result> {
  return withStore(async ({ store }) => {
    const user = await requireUser(store, email);
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
    const user = await requireUser(store, email);
    await store.users.verifyEmail(user.id, Date.now());
    return { text: `${printable(user.email)} is verified.`, json: userJson(await requireUser(store, email)) };
  });
}

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
