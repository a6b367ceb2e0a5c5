import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { Keyring, maxTokenTtlMs } from '../keys/keyring.ts';
import { loadSecret, secretPath } from '../keys/secret-file.ts';
import { adoptSecret, claimDatabase } from '../keys/secret-fingerprint.ts';
import { PENDING_MS, type ScheduledKeyState } from '../protocol/key-schedule.ts';
import { type OpenedStore, withStore } from './database.ts';
import { addAction, addGroup, CommandFailed, isoTime, type Result, readableTime, table } from './output.ts';

const SALT_BYTES = 32;
/** The number has two bytes in a credential. */
const MAX_NUMBER = 65_535;

export function addKeysCommands(program: Command): void {
  const keys = addGroup(program, 'keys', 'list and rotate the keys that sign codes and tokens');

  addAction(keys.command('list').description('list the signing keys in use'), listKeys);

  const rotate = keys
    .command('rotate')
    .description('start signing with a new key; what earlier keys signed stays valid until it expires')
    .addHelpText(
      'after',
      '\nEvery node reads the new key within a second or two, and signs with it some seconds later.' +
        '\nAll keys are derived from the secret. If the secret leaked, replace it: docs/operations.md.',
    );
  addAction(rotate, rotateKeys);

  const adopt = keys
    .command('adopt-secret')
    .description('make this database belong to the current secret: all tokens issued before become invalid')
    .option('--yes', 'do it')
    .addHelpText(
      'after',
      '\nFor a secret that leaked or was lost. Stop every node first: docs/operations.md.',
    );
  addAction(adopt, adoptCurrentSecret);
}

function listKeys(): Promise<Result> {
  return withStore(async (opened) => {
    const states = await keyStates(opened);
    const rows = states.map((state) => [String(state.key.number), createdText(state), stateText(state)]);
    return { text: table([['KEY', 'CREATED', 'STATE'], ...rows]), json: states.map(stateJson) };
  });
}

async function keyStates({ store, config }: OpenedStore): Promise<ScheduledKeyState[]> {
  const keyring = new Keyring('listing needs no secret', maxTokenTtlMs(config));
  await keyring.reload(store.signingKeys, Date.now());
  return keyring.states(Date.now());
}

const createdText = ({ key }: ScheduledKeyState): string =>
  key.createdAt === 0 ? 'with the secret' : readableTime(key.createdAt);

function stateText({ state, endsAt }: ScheduledKeyState): string {
  switch (state) {
    case 'pending':
      return 'pending: signs as soon as every node has read it';
    case 'signing':
      return 'signing';
    case 'verifying':
      return endsAt === undefined ? 'verifying' : `verifying until ${readableTime(endsAt)}`;
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
      throw new CommandFailed('No key was created: this database belongs to another secret.');
    const records = await store.signingKeys.list();
    const number = Math.max(1, ...records.map((record) => record.number)) + 1;
    if (number > MAX_NUMBER) throw new CommandFailed(`All ${MAX_NUMBER} key numbers are in use.`);
    const salt = randomBytes(SALT_BYTES).toString('base64url');
    if (!(await store.signingKeys.add({ number, salt, createdAt: Date.now() })))
      throw new CommandFailed('Another key was created at the same moment. See: bin/postern keys list');
    return {
      text:
        `Created key ${number}. Running nodes sign with it after ${PENDING_MS / 1000} seconds; ` +
        'what was signed before stays valid until it expires.\nSee all with: bin/postern keys list',
      json: { number },
    };
  });
}

function adoptCurrentSecret({ yes }: { yes?: boolean }): Promise<Result> {
  return withStore(async ({ store, config }) => {
    const secret = loadSecret(config);
    if (await claimDatabase(store.secretFingerprint, secret))
      return { text: 'This database already belongs to this secret.', json: { adopted: false } };
    if (!yes) {
      throw new CommandFailed(
        'Nothing was changed. With another secret all codes and tokens issued so far become invalid, and ' +
          'users must reconnect their applications. To go ahead, add --yes.',
      );
    }
    await adoptSecret(store.secretFingerprint, secret);
    const where = config.secret === undefined ? secretPath(config) : 'POSTERN_SECRET';
    return {
      text: `This database now belongs to the secret in ${where}. Back it up, and start every node with it.`,
      json: { adopted: true },
    };
  });
}
