import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { blocksOf } from '../support/markdown-blocks.ts';
import {
  COMMAND,
  freePort,
  newFolder,
  PosternClient,
  PosternProcess,
  removeFolder,
} from '../support/postern-process.ts';
import { PreparedData } from '../support/prepared-data.ts';
import { authorizePath, newVerifier, type Service, type Tokens, Visitor } from '../support/service.ts';

/** The runbooks of docs/operations.md for a leaked secret. */
const runbooks = blocksOf('docs/operations.md')
  .filter(({ text }) => text.includes('keys adopt-secret'))
  .map(({ text }) => text);
const runbookWith = (text: string): string => {
  const matching = runbooks.filter((runbook) => runbook.includes(text));
  assert.equal(matching.length, 1, text);
  return matching[0]!;
};

/** A folder like the project's, with a data folder in use, whose secret is in a file. */
async function projectFolder(t: TestContext): Promise<{ folder: string; prepared: PreparedData }> {
  const folder = newFolder();
  t.after(() => removeFolder(folder));
  mkdirSync(join(folder, 'bin'));
  symlinkSync(COMMAND, join(folder, 'bin/postern'));
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  const prepared = await PreparedData.in(join(folder, 'data'));
  writeFileSync(join(folder, 'data/secret'), `${prepared.settings.POSTERN_SECRET}\n`, { mode: 0o600 });
  return { folder, prepared };
}

/** Pastes commands of which the last one serves, and waits until it does. */
async function paste(t: TestContext, commands: string, folder: string, settings: Record<string, string>) {
  const port = await freePort();
  const env = { PATH: process.env.PATH, POSTERN_PORT: String(port), ...settings };
  // A process group of its own: the shell does not pass signals on to the service.
  const shell = spawn('/bin/sh', ['-eu', '-c', commands], { cwd: folder, env, detached: true });
  const closed = once(shell, 'close');
  let stderr = '';
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  shell.stdout.resume();
  t.after(async () => {
    if (shell.exitCode === null) process.kill(-shell.pid!, 'SIGKILL');
    await closed;
  });
  await eventually(() => stderr.includes('Postern listens on') || shell.exitCode !== null);
  assert.equal(shell.exitCode, null, stderr);
  return new PosternClient(`http://127.0.0.1:${port}`);
}

async function assertOldCredentialsWork(settings: Record<string, string>, old: Tokens): Promise<void> {
  const postern = await PosternProcess.start(settings);
  assert.equal((await postern.userinfo(old.access_token)).status, 200);
  await postern.stop();
}

async function assertReplaced(
  postern: PosternClient,
  prepared: PreparedData,
  old: Tokens,
  unusedCode: { code: string; verifier: string },
): Promise<void> {
  const { client, user } = prepared;
  assert.equal((await postern.get('/health')).status, 200);
  assert.equal((await postern.userinfo(old.access_token)).status, 401);
  for (const { status, body } of [
    await postern.refresh(client, old.refresh_token),
    await postern.exchange(client, unusedCode),
  ])
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);

  const visitor = new Visitor(postern as unknown as Service, user);
  assert.equal((await visitor.signIn()).status, 303);
  const verifier = newVerifier();
  const callback = new URL(await visitor.allow(authorizePath(client, verifier)));
  const { body } = await postern.exchange(client, { code: callback.searchParams.get('code')!, verifier });
  assert.equal((await postern.userinfo(String(body.access_token))).status, 200);
}

test('a leaked secret in the data folder is replaced by the runbook of docs/operations.md', async (t) => {
  const { folder, prepared } = await projectFolder(t);
  const { POSTERN_SECRET: leaked, ...settings } = prepared.settings;
  const [tokens] = (await prepared.tokens(1)) as Tokens[];
  const [code] = await prepared.codes(1);
  await assertOldCredentialsWork(settings, tokens!);

  const postern = await paste(t, runbookWith('rm data/secret'), folder, {});
  await assertReplaced(postern, prepared, tokens!, code!);
  assert.notEqual(readFileSync(join(folder, 'data/secret'), 'utf8').trim(), leaked);
});

test('a leaked POSTERN_SECRET is replaced by the runbook of docs/operations.md', async (t) => {
  const { folder, prepared } = await projectFolder(t);
  const [tokens] = (await prepared.tokens(1)) as Tokens[];
  const [code] = await prepared.codes(1);
  await assertOldCredentialsWork(prepared.settings, tokens!);

  const postern = await paste(t, runbookWith('export POSTERN_SECRET'), folder, prepared.settings);
  await assertReplaced(postern, prepared, tokens!, code!);
});

test('a secret that was merely changed stops the service from starting, and the message names the way out', async (t) => {
  const { folder, prepared } = await projectFolder(t);
  const { POSTERN_SECRET: _, ...settings } = prepared.settings;
  await (await PosternProcess.start(settings)).stop();
  writeFileSync(join(folder, 'data/secret'), 'another secret that is long enough, at least 32 bytes\n');
  await assert.rejects(PosternProcess.start(settings), /belongs to another secret.*keys adopt-secret/s);
});
