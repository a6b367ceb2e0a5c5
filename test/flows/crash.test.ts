import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { endAll, newFolder, PosternProcess, removeFolder } from '../support/postern-process.ts';
import { PreparedData } from '../support/prepared-data.ts';
import type { IssuedCode, Reply } from '../support/service.ts';

/**
 * kill -9 under load, many times. An acknowledged request must have taken effect, and any other one completely or
 * not at all.
 */
const CRASHES = 20;
const WORKERS = 12;
const GRANTS_PER_WORKER = 4;

type Tokens = { access_token: string; refresh_token: string };
/** One grant as its client knows it: the responses it got, and a request without a response. */
type ClientGrant = {
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

/** Sends requests for these grants until the service is killed. */
async function load(
  postern: PosternProcess,
  grants: readonly ClientGrant[],
  acknowledged: () => void,
): Promise<void> {
  for (let n = 0; ; n++) {
    const grant = grants[n % grants.length]!;
    if (grant.revoked) {
      if (grants.every(({ revoked }) => revoked)) return;
      continue;
    }
    const last = grant.tokens.at(-1);
    const operation = !last ? 'exchange' : n % 17 === 16 ? 'revoke' : 'refresh';
    grant.unanswered = operation;
    let response: Reply;
    try {
      response = await (operation === 'exchange'
        ? postern.exchange(prepared.client, grant.code)
        : postern[operation](prepared.client, last!.refresh_token));
    } catch {
      return;
    }
    assert.equal(response.status, 200, `${operation}: ${response.text}`);
    grant.unanswered = undefined;
    if (operation === 'revoke') grant.revoked = true;
    else grant.tokens.push(response.body as Tokens);
    acknowledged();
  }
}

const met = new Map<string, number>();
const meet = (what: string) => met.set(what, (met.get(what) ?? 0) + 1);

async function check(postern: PosternProcess, grant: ClientGrant): Promise<void> {
  const { client } = prepared;
  const { code, tokens, revoked, unanswered } = grant;
  meet(unanswered ? `${unanswered} unanswered` : revoked ? 'revoked' : tokens.length > 0 ? 'idle' : 'unused');
  const last = tokens.at(-1);
  const status = async (accessToken: string) => (await postern.userinfo(accessToken)).status;

  if (!last) {
    const exchanged = await postern.exchange(client, code);
    if (exchanged.status === 200) return assert.equal(await status(String(exchanged.body.access_token)), 200);
    // The response was lost, but the exchange took effect: the code is used and must not work again.
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

  // Codes and tokens used before the crash stay used.
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
  let before: ClientGrant[] = [];
  let acknowledged = 0;
  for (let crash = 0; crash <= CRASHES; crash++) {
    const codes = await prepared.codes(WORKERS * GRANTS_PER_WORKER);
    const postern = await PosternProcess.start(prepared.settings);
    server = postern;
    await Promise.all(before.map((grant) => check(postern, grant)));
    if (crash === CRASHES) break;

    const grants = codes.map((code): ClientGrant => ({ code, tokens: [], revoked: false }));
    let left = 30 + Math.floor(Math.random() * 300);
    const answered = () => {
      acknowledged++;
      if (--left === 0) postern.command.child.kill('SIGKILL');
    };
    await Promise.all(
      Array.from({ length: WORKERS }, (_, n) =>
        load(postern, grants.slice(n * GRANTS_PER_WORKER, (n + 1) * GRANTS_PER_WORKER), answered),
      ),
    );
    await postern.kill();
    before = grants;
  }
  t.diagnostic(`${acknowledged} acknowledged; ${[...met].map((one) => one.join(': ')).join(', ')}`);
  assert.ok((met.get('idle') ?? 0) > CRASHES && (met.get('refresh unanswered') ?? 0) > 0);
  const { code } = await server!.stop();
  assert.equal(code, 0);

  const db = new DatabaseSync(prepared.databasePath);
  assert.deepEqual({ ...db.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
  db.close();
});
