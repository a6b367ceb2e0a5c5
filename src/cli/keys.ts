import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { Keyring, maxTokenTtlMs } from '../keys/keyring.ts';
import { loadSecret } from '../keys/secret-file.ts';
import { adoptSecret, claimDatabase } from '../keys/secret-fingerprint.ts';
import { PENDING_MS, type ScheduledKeyState } from '../protocol/key-schedule.ts';
import { type Opened, withStore } from './database.ts';
import { addAction, addGroup, CommandFailed, isoTime, type Result, readableTime, table } from './output.ts';

const SALT_BYTES = 32;
const MAX_NUMBER = 65_535;

export function addKeysCommands(program: Command): void {
  const keys = addGroup(program, 'keys', 'list and rotate the keys that seal codes and tokens');

  addAction(keys.command('list').description('list the sealing keys in use'), listKeys);

  const rotate = keys
    .command('rotate')
    .description('begin to seal with a new key; what earlier keys sealed stays valid until it expires')
    .addHelpText(
      'after',
      '\nEvery node reads the new key within a second or two, and seals with it some seconds later.' +
        '\nThe keys derive from POSTERN_SECRET: if that leaked, change it (docs/operations.md).',
    );
  addAction(rotate, rotateKeys);

  const adopt = keys
    .command('adopt-secret')
    .description('let this database belong to the present POSTERN_SECRET: every token issued before ends')
    .option('--yes', 'do it');
  addAction(adopt, adoptPresentSecret);
}

function listKeys(): Promise<Result> {
  return withStore(async (opened) => {
    const states = await statesOf(opened);
    const rows = states.map((state) => [String(state.key.number), createdAt(state), inPlainWords(state)]);
    return { text: table([['KEY', 'CREATED', 'USE'], ...rows]), json: states.map(stateJson) };
  });
}

async function statesOf({ store, config }: Opened): Promise<ScheduledKeyState[]> {
  const keyring = new Keyring('a list needs no secret', maxTokenTtlMs(config));
  await keyring.reload(store.signingKeys, Date.now());
  return keyring.states(Date.now());
}

const createdAt = ({ key }: ScheduledKeyState): string =>
  key.createdAt === 0 ? 'with the secret' : readableTime(key.createdAt);

function inPlainWords({ state, endsAt }: ScheduledKeyState): string {
  switch (state) {
    case 'pending':
      return 'new: seals in a moment, when every node has read it';
    case 'signing':
      return 'seals and opens';
    case 'verifying':
      return endsAt === undefined ? 'verifying' : `opens until ${readableTime(endsAt)}`;
  }
}

const stateJson = ({ key, state, endsAt }: ScheduledKeyState) => ({
  number: key.number,
  created_at: key.createdAt === 0 ? null : isoTime(key.createdAt),
  state,
  ends_at: endsAt === undefined ? null : isoTime(endsAt),
});

function rotateKeys(): Promise<Result> {
  return withStore(async ({ store, config }) => {
    if (!(await claimDatabase(store.secretFingerprint, loadSecret(config))))
      throw new CommandFailed('This database belongs to another POSTERN_SECRET: no key was made.');
    const records = await store.signingKeys.list();
    const number = Math.max(1, ...records.map((record) => record.number)) + 1;
    if (number > MAX_NUMBER) throw new CommandFailed(`All ${MAX_NUMBER} key numbers are used up.`);
    const salt = randomBytes(SALT_BYTES).toString('base64url');
    if (!(await store.signingKeys.add({ number, salt, createdAt: Date.now() })))
      throw new CommandFailed('Another key was made at the same moment. See: bin/postern keys list');
    return {
      text:
        `Made key ${number}. Running nodes seal with it from ${PENDING_MS / 1000} seconds on; ` +
        'what was sealed before stays valid until it expires.\nSee all with: bin/postern keys list',
      json: { number },
    };
  });
}

function adoptPresentSecret({ yes }: { yes?: boolean }): Promise<Result> {
  return withStore(async ({ store, config }) => {
    const secret = loadSecret(config);
    if (await claimDatabase(store.secretFingerprint, secret))
      return { text: 'This database belongs to this secret already.', json: { adopted: false } };
    if (!yes) {
      throw new CommandFailed(
        'With a new secret every code and token issued so far ends, and all users have to connect their ' +
          'applications again. Add --yes if that is what you want.',
      );
    }
    await adoptSecret(store.secretFingerprint, secret);
    return {
      text: 'This database now belongs to the present secret. Start every node with it.',
      json: { adopted: true },
    };
  });
}
