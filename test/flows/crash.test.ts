import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { endAll, newFolder, PosternProcess, removeFolder } from '../support/postern-process.ts';
import { PreparedData } from '../support/prepared-data.ts';
import type { IssuedCode, Reply } from '../support/service.ts';

/**
 * kill -9 under load, again and again. What was acknowledged must have happened, and what was not
 * must have happened wholly or not at all.
 */
const CRASHES = 20;
const WORKERS = 12;
const CHAINS_A_WORKER = 4;

type Tokens = { access_token: string; refresh_token: string };
/** One grant as its client knows it: what it was told, and what it asked without hearing back. */
type Chain = {
  code: IssuedCode;
  tokens: Tokens[];
  revoked: boolean;
  unanswered?: 'exchange' | 'refresh' | 'revoke' | undefined;
};

const folder = newFolder();
let prepared: PreparedData;
let server: PosternProcess | undefined;
before(async () => {
  prepared = await PreparedData.in(folder);
});
after(async () => {
  endAll();
  await server?.kill();
  removeFolder(folder);
});

/** Works at the chains until the service is gone. */
async function load(
  postern: PosternProcess,
  chains: readonly Chain[],
  acknowledged: () => void,
): Promise<void> {
  for (let n = 0; ; n++) {
    const chain = chains[n % chains.length]!;
    if (chain.revoked) {
      if (chains.every(({ revoked }) => revoked)) return;
      continue;
    }
    const last = chain.tokens.at(-1);
    const deed = !last ? 'exchange' : n % 17 === 16 ? 'revoke' : 'refresh';
    chain.unanswered = deed;
    let answer: Reply;
    try {
      answer = await (deed === 'exchange'
        ? postern.exchange(prepared.client, chain.code)
        : postern[deed](prepared.client, last!.refresh_token));
    } catch {
      return;
    }
    assert.equal(answer.status, 200, `${deed}: ${answer.text}`);
    chain.unanswered = undefined;
    if (deed === 'revoke') chain.revoked = true;
    else chain.tokens.push(answer.body as Tokens);
    acknowledged();
  }
}

const met = new Map<string, number>();
const meet = (what: string) => met.set(what, (met.get(what) ?? 0) + 1);

async function check(postern: PosternProcess, chain: Chain): Promise<void> {
  const { client } = prepared;
  const { code, tokens, revoked, unanswered } = chain;
  meet(unanswered ? `${unanswered} unanswered` : revoked ? 'revoked' : tokens.length > 0 ? 'idle' : 'unused');
  const last = tokens.at(-1);
  const status = async (accessToken: string) => (await postern.userinfo(accessToken)).status;

  if (!last) {
    const exchanged = await postern.exchange(client, code);
    if (exchanged.status === 200) return assert.equal(await status(String(exchanged.body.access_token)), 200);
    // Its answer was lost, but it took place: then the code is used and may not work again.
    assert.equal(unanswered, 'exchange', exchanged.text);
    return assert.equal(exchanged.body.error, 'invalid_grant');
  }

  if (revoked || unanswered === 'revoke') {
    const alive = (await status(last.access_token)) === 200;
    assert.ok(!(revoked && alive), 'a confirmed revocation was lost');
    const refreshed = await postern.refresh(client, last.refresh_token);
    return assert.equal(refreshed.status, alive ? 200 : 400);
  }

  for (const { access_token } of tokens.slice(-3)) assert.equal(await status(access_token), 200);
  const refreshed = await postern.refresh(client, last.refresh_token);
  if (refreshed.status !== 200) {
    assert.equal(unanswered, 'refresh', `an acknowledged refresh token was lost: ${refreshed.text}`);
    assert.match(String(refreshed.body.error_description), /refresh token was already used/);
    return;
  }
  assert.equal(await status(String(refreshed.body.access_token)), 200);

  // Whatever was consumed before the crash is consumed after it.
  const consumed = tokens[Math.floor(Math.random() * (tokens.length - 1))]!;
  if (tokens.length > 1 && Math.random() < 0.7) {
    const reused = await postern.refresh(client, consumed.refresh_token);
    assert.match(String(reused.body.error_description), /refresh token was already used/);
  } else {
    const replayed = await postern.exchange(client, code);
    assert.deepEqual([replayed.status, replayed.body.error], [400, 'invalid_grant']);
  }
  assert.equal(await status(String(refreshed.body.access_token)), 401);
}

test(`${CRASHES} crashes under load: nothing acknowledged is lost, nothing consumed works again`, {
  timeout: 240_000,
}, async (t) => {
  let before: Chain[] = [];
  let acknowledged = 0;
  for (let crash = 0; crash <= CRASHES; crash++) {
    const codes = await prepared.codes(WORKERS * CHAINS_A_WORKER);
    const postern = await PosternProcess.start(prepared.settings);
    server = postern;
    await Promise.all(before.map((chain) => check(postern, chain)));
    if (crash === CRASHES) break;

    const chains = codes.map((code): Chain => ({ code, tokens: [], revoked: false }));
    let left = 30 + Math.floor(Math.random() * 300);
    const answered = () => {
      acknowledged++;
      if (--left === 0) postern.command.child.kill('SIGKILL');
    };
    await Promise.all(
      Array.from({ length: WORKERS }, (_, n) =>
        load(postern, chains.slice(n * CHAINS_A_WORKER, (n + 1) * CHAINS_A_WORKER), answered),
      ),
    );
    await postern.kill();
    before = chains;
  }
  t.diagnostic(`${acknowledged} acknowledged; ${[...met].map((one) => one.join(': ')).join(', ')}`);
  assert.ok((met.get('idle') ?? 0) > CRASHES && (met.get('refresh unanswered') ?? 0) > 0);
  const { code } = await server!.stop();
  assert.equal(code, 0);

  const db = new DatabaseSync(prepared.databasePath);
  assert.deepEqual({ ...db.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
  db.close();
});
