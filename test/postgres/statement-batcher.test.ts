import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SharedCounters } from '../../src/store/counters.ts';
import { type BatchableStatement, batchableUpdate } from '../../src/store/drivers/batchable-statement.ts';
import type { Driver, RowArray, Statement } from '../../src/store/drivers/driver.ts';
import { setUpForRequests } from '../../src/store/drivers/postgres-client.ts';
import { PostgresServers } from '../../src/store/drivers/postgres-servers.ts';
import { StatementBatcher } from '../../src/store/drivers/statement-batcher.ts';
import { DatabaseUnavailable } from '../../src/store/errors.ts';
import { SqlGrants } from '../../src/store/grants.ts';
import { openStore } from '../../src/store/store.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';

/** Every batchable statement of the store. */
async function batchableStatements(): Promise<BatchableStatement[]> {
  const run: BatchableStatement[] = [];
  const driver = {
    runBatched: async (statement: BatchableStatement) => {
      run.push(statement);
      return [0, 0];
    },
  } as unknown as Driver;
  const grants = new SqlGrants(driver);
  const ref = { userId: 'u', grantId: 'g', generation: 1 };
  const request = { ref, clientId: 'c', redirectUri: 'r', codeChallenge: 'x', scope: undefined };
  const times = { now: 1, expiresAt: 2, codesExpiredBefore: 0 };
  await grants.redeemCode({ ...request, ...times });
  await grants.rotate({ ...request, ...times });
  await grants.revoke(ref, 'c', 1);
  await grants.readAccess(ref);
  await new SharedCounters(driver).hit({ name: 'test', windowMs: 60_000, max: 1 }, 'key', 1, 1);
  assert.equal(run.length, 5);
  return run;
}

/** As few rows as autovacuum ever analyzes: so few that the planner would prefer to read them all. */
const SMALL = `
  INSERT INTO users (id, email, password_hash, created_at, updated_at)
    SELECT 'u' || n, 'e', 'h', 1, 1 FROM generate_series(1, 50) n;
  INSERT INTO grants (user_id, id, client_id, scope, generation, expires_at, created_at)
    SELECT 'u' || n, 'g', 'c', 1, 1, 1, 1 FROM generate_series(1, 50) n;
  INSERT INTO revoked_access_tokens (user_id, grant_id, generation, expires_at)
    SELECT 'u' || n, 'g', 1, 1 FROM generate_series(1, 50) n;
  INSERT INTO rate_windows (key, started_at, ends_at, count)
    SELECT 'k' || n, 1, 1, 1 FROM generate_series(1, 50) n`;

describe('a batch', () => {
  let server: TestPostgres;
  let url: string;
  before(async () => {
    server = await TestPostgres.start();
    url = await server.createDatabase();
    const store = openStore(url);
    await store.migrate();
    await store.close();
    await query(url, SMALL);
    await query(url, 'ANALYZE');
  });
  after(() => server.stop());

  /** PostgreSQL keeps a plan until it learns that the tables have grown. */
  test('finds its rows by key, in the order they were sent, even when planned while the tables were small', async () => {
    const timeoutMs = 5_000;
    const setUp = setUpForRequests(timeoutMs);
    const client = await new PostgresServers(url).connect({ timeoutMs, setUp });
    try {
      for (const { batch, types } of await batchableStatements()) {
        const { rows } = await client.query(
          `EXPLAIN ${batch}`,
          types.map((type) => (type === 'text' ? '{a,b}' : '{1,2}')),
        );
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        assert.doesNotMatch(plan, /Seq Scan|Hash|Merge|Sort/, plan);
        assert.match(plan, /Nested Loop.*Function Scan on request.*Index/s, plan);
      }
    } finally {
      await client.end();
    }
  });
});

const TAKE = batchableUpdate(['text'], { table: 'things', set: 'n = 1', where: 'id = $1', returning: 'id' });

/** Responds to each statement with the keys it was sent, the last first. */
class Echo {
  readonly sent: Statement[] = [];
  readonly batcher = new StatementBatcher(1_000, async (statement) => {
    this.sent.push(statement);
    const [keys] = statement.values as [string];
    if (statement.sql === TAKE.single) return [[keys]];
    const names = keys.slice(2, -2).split('","');
    return names.map((name, index): RowArray => [index + 1, name]).toReversed();
  });
}

const NAMES = ['c', 'a', 'e', 'b', 'd'];

test('requests of one turn are one sorted batch, and each gets its own row in whatever order rows come', async () => {
  const echo = new Echo();
  const rows = await Promise.all(NAMES.map((name) => echo.batcher.run(TAKE, [name])));
  assert.deepEqual(
    rows,
    NAMES.map((name) => [name]),
  );
  assert.deepEqual(echo.sent, [{ sql: TAKE.batch, values: ['{"a","b","c","d","e"}'] }]);
});

test('a single request is sent as a single statement', async () => {
  const echo = new Echo();
  assert.deepEqual(await echo.batcher.run(TAKE, ['a']), ['a']);
  assert.deepEqual(echo.sent, [{ sql: TAKE.single, values: ['a'] }]);
});

test('requests that arrive while a batch is under way form the next ones, half of them at a time', async () => {
  const echo = new Echo();
  const first = echo.batcher.run(TAKE, ['first']);
  await new Promise((resolve) => setImmediate(resolve));
  const rest = Array.from({ length: 150 }, (_, n) => echo.batcher.run(TAKE, [`n${n}`]));
  assert.deepEqual(await first, ['first']);
  assert.deepEqual(
    await Promise.all(rest),
    rest.map((_, n) => [`n${n}`]),
  );
  const sizes = echo.sent.slice(1).map(({ values }) => String(values[0]).split(',').length);
  assert.deepEqual([echo.sent[0]!.sql, sizes], [TAKE.single, [75, 38, 19, 16, 2]]);
});

test('a request that waited too long is refused and not sent, so that its outcome is known', async () => {
  const sent: Statement[] = [];
  const batcher = new StatementBatcher(-1, async (statement) => {
    sent.push(statement);
    return [];
  });
  const results = await Promise.allSettled(NAMES.map((name) => batcher.run(TAKE, [name])));
  for (const result of results)
    assert.ok(result.status === 'rejected' && result.reason instanceof DatabaseUnavailable);
  assert.deepEqual(sent, []);
  assert.equal(batcher.busy, false);
});

/** One statement on the rows of many users would go to many shards. */
test('on Citus every request is sent as a single statement', async () => {
  const echo = new Echo();
  echo.batcher.batching = false;
  const rows = await Promise.all(NAMES.map((name) => echo.batcher.run(TAKE, [name])));
  assert.deepEqual(
    rows,
    NAMES.map((name) => [name]),
  );
  assert.deepEqual(
    echo.sent,
    NAMES.map((name) => ({ sql: TAKE.single, values: [name] })),
  );
});
