import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { diagnose } from '../../src/dashboard/incident-diagnosis.ts';
import { newId } from '../../src/protocol/credentials.ts';
import { openStore } from '../../src/store/store.ts';
import { withinASecond } from '../support/eventually.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';
import { DAY, type Reply, Service, type TestClient, type Tokens } from '../support/service.ts';
import { issueCode } from './load.ts';
import { BreakingProxy } from './proxy.ts';

let server: TestPostgres;
let database: string;
let nodes: readonly [Service, Service];

before(async () => {
  server = await TestPostgres.start();
  database = await server.createDatabase();
  const start = (settings: Record<string, string> = {}) =>
    Service.start({ POSTERN_DATABASE_URL: database, ...settings });
  // At the same time, so that both find an empty database.
  nodes = await Promise.all([start(), start()]);
});
after(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await server.stop();
});

type Servers = Service['app']['store']['resourceServers'];

/** The same request `count` times at once, alternating between the nodes. */
const atOnce = (count: number, send: (node: Service) => Promise<Reply>): Promise<Reply[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => send(nodes[index % 2]!)));

const statuses = (replies: readonly Reply[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

async function newTokens(): Promise<{ client: TestClient; tokens: Tokens }> {
  const client = await nodes[0].createClient();
  const user = await nodes[0].createUser();
  const reply = await nodes[1].exchange(client, await issueCode(nodes[0], client, user.id));
  assert.equal(reply.status, 200, reply.text);
  return { client, tokens: reply.body as Tokens };
}

describe('two nodes, one database', () => {
  test('the schema is applied once when nodes start at the same time', async () => {
    const url = await server.createDatabase();
    const stores = Array.from({ length: 4 }, () => openStore(url, { connections: 1 }));
    const applied = await Promise.all(stores.map((store) => store.migrate()));
    assert.equal(applied.filter((names) => names.length > 0).length, 1);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('of ten exchanges of one code one succeeds, and the replays revoke its grant', async () => {
    const client = await nodes[0].createClient();
    const user = await nodes[0].createUser();
    const issued = await issueCode(nodes[0], client, user.id);
    const replies = await atOnce(10, (node) => node.exchange(client, issued));
    assert.deepEqual(statuses(replies), { 200: 1, 400: 9 });
    const { refresh_token } = replies.find(({ status }) => status === 200)!.body as Tokens;
    assert.equal((await nodes[1].refresh(client, refresh_token)).status, 400);
  });

  test('of ten refreshes with one token one succeeds, and the grant is revoked', async () => {
    const { client, tokens } = await newTokens();
    const replies = await atOnce(10, (node) => node.refresh(client, tokens.refresh_token));
    assert.deepEqual(statuses(replies), { 200: 1, 400: 9 });
    const { refresh_token, access_token } = replies.find(({ status }) => status === 200)!.body as Tokens;
    for (const node of nodes) {
      assert.equal((await node.refresh(client, refresh_token)).status, 400);
      assert.equal((await node.userinfo(access_token)).status, 401);
    }
  });

  test('a token of one node works on the other, and a revocation reaches it at once', async () => {
    const { client, tokens } = await newTokens();
    assert.equal((await nodes[0].userinfo(tokens.access_token)).status, 200);
    assert.equal((await nodes[1].revoke(client, tokens.access_token)).status, 200);
    assert.equal((await nodes[0].userinfo(tokens.access_token)).status, 401);
    assert.equal((await nodes[1].revoke(client, tokens.refresh_token)).status, 200);
    assert.equal((await nodes[0].refresh(client, tokens.refresh_token)).status, 400);
  });

  test('exactly 30 of 60 requests of one client pass, over both nodes', async () => {
    const client = await nodes[0].createClient();
    const replies = await atOnce(60, (node) => node.revoke(client, 'whatever'));
    assert.deepEqual(statuses(replies), { 200: 30, 429: 30 });
    // Both share one window, and it reopens for both.
    for (const node of nodes) node.clock.advance(60_000);
    assert.equal((await nodes[1].revoke(client, 'whatever')).status, 200);
  });

  test('an application disabled through one node is refused by the other within a second', async () => {
    const { client, tokens } = await newTokens();
    assert.equal((await nodes[1].userinfo(tokens.access_token)).status, 200);
    await nodes[0].app.store.applications.setDisabled(client.clientId, true, nodes[0].clock.ms);
    const isEnabled = async (node: Service) =>
      (await node.app.store.applications.find(client.clientId))?.disabledAt === null;
    await withinASecond(async () => !(await isEnabled(nodes[1])));
    assert.equal((await nodes[1].refresh(client, tokens.refresh_token)).status, 401);
    assert.equal((await nodes[1].userinfo(tokens.access_token)).status, 401);
    await nodes[1].app.store.applications.setDisabled(client.clientId, false, nodes[0].clock.ms);
    await withinASecond(() => isEnabled(nodes[0]));
    assert.equal((await nodes[0].refresh(client, tokens.refresh_token)).status, 200);
  });

  test('a resource server deleted through one node is refused by the other within a second', async () => {
    const [here, there] = nodes.map((node) => node.app.store.resourceServers) as [Servers, Servers];
    await here.create({ id: 'rs_photos', name: 'Photo API', secret: 'postern_rs_x', now: 0 });
    assert.ok(await there.find('rs_photos'));
    await here.delete('rs_photos');
    await withinASecond(async () => (await there.find('rs_photos')) === undefined);
  });

  test('one process at a time has a lease', async () => {
    const [a, b] = [nodes[0].app.store.leases, nodes[1].app.store.leases];
    const race = newId();
    const both = await Promise.all([a.take(race, 'a', 100, 100), b.take(race, 'b', 100, 100)]);
    assert.deepEqual(both.toSorted(), [false, true]);
    const name = newId();
    assert.equal(await a.take(name, 'a', 100, 100), true);
    assert.equal(await a.take(name, 'a', 150, 150), true);
    assert.equal(await b.take(name, 'b', 100, 299), false);
    assert.equal(await b.take(name, 'b', 100, 300), true);
    await b.release(name, 'b');
    assert.equal(await a.take(name, 'a', 100, 310), true);
    // Taken by a clock that was days ahead, and never released.
    assert.equal(await a.take(name, 'a', 100, 40 * DAY), true);
    assert.equal(await b.take(name, 'b', 100, 320), true);
  });
});

describe('a node whose listening connection is lost', () => {
  test('does not trust its cache for longer than a second', async () => {
    const client = await nodes[0].createClient();
    assert.equal((await nodes[1].app.store.applications.find(client.clientId))?.disabledAt, null);
    await Promise.all([
      query(
        database,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND (query LIKE 'LISTEN%' OR query LIKE '%changes%')`,
      ),
      query(database, `UPDATE applications SET disabled_at = 5 WHERE client_id = '${client.clientId}'`),
    ]);
    // Changed without a notification: only the lost connection makes the node read again.
    const disabledAt = async () => (await nodes[1].app.store.applications.find(client.clientId))?.disabledAt;
    await withinASecond(async () => (await disabledAt()) === 5);
  });
});

describe('a statement whose outcome is unknown', () => {
  test('gets a 500, and the retry is safe: it is refused when the first took effect', async () => {
    const proxy = await BreakingProxy.start(server.port);
    const url = server.url(new URL(database).pathname.slice(1), proxy.port);
    const node = await Service.start({ POSTERN_DATABASE_URL: url });
    const { client, tokens } = await newTokens();
    // Warm: the application is cached and the counter's statement prepared.
    assert.equal((await node.revoke(client, 'whatever')).status, 200);
    proxy.swallowResponseTo('UPDATE grants SET generation = generation + 1');
    const lost = await node.refresh(client, tokens.refresh_token);
    assert.deepEqual([lost.status, lost.body.error], [500, 'server_error']);
    const retry = await node.refresh(client, tokens.refresh_token);
    assert.equal(retry.status, 400);
    assert.match(String(retry.body.error_description), /already used/);
    await node.app.requestLog.flush();
    const [incident] = await node.app.store.incidents.list(client.clientId, 1);
    assert.match(
      diagnose(incident!).summary,
      /^The response to the first attempt was lost \(database timeout at 2030-01-01 00:00:00 UTC\)/,
    );
    await node.stop();
    await proxy.stop();
  });
});
