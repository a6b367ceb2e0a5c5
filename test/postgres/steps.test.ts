import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SharedCounters } from '../../src/store/counters.ts';
import { type BatchableStatement, batchableUpdate } from '../../src/store/drivers/batchable-statement.ts';
import {
  DatabaseUnavailable,
  type Driver,
  type RowArray,
  type Statement,
} from '../../src/store/drivers/driver.ts';
import { connectForRequests } from '../../src/store/drivers/postgres-client.ts';
import { StatementBatcher } from '../../src/store/drivers/statement-batcher.ts';
import { SqlGrants } from '../../src/store/grants.ts';
import { openStore } from '../../src/store/store.ts';
import { query } from '../support/postgres-database.ts';
import { TestPostgres } from '../support/postgres-server.ts';

/** Every step that a request waits for, as the store takes it. */
async function hotSteps(): Promise<BatchableStatement[]> {
  const taken: BatchableStatement[] = [];
  const driver = {
    runBatched: async (step: BatchableStatement) => {
      taken.push(step);
      return [0, 0];
    },
  } as unknown as Driver;
  const grants = new SqlGrants(driver);
  const ref = { userId: 'u', grantId: 'g', generation: 1 };
  const asked = { ref, clientId: 'c', redirectUri: 'r', codeChallenge: 'x', scope: undefined };
  const times = { now: 1, expiresAt: 2, codesExpiredBefore: 0 };
  await grants.redeemCode({ ...asked, ...times });
  await grants.rotate({ ...asked, ...times });
  await grants.revoke(ref, 'c', 1);
  await grants.readAccess(ref);
  await new SharedCounters(driver).hit('key', 60_000, 1, 1);
  assert.equal(taken.length, 5);
  return taken;
}

/** As few rows as PostgreSQL ever makes its statistics of by itself: so few that it would rather read them all. */
const SMALL = `
  INSERT INTO users (id, email, password_hash, created_at, updated_at)
    SELECT 'u' || n, 'e', 'h', 1, 1 FROM generate_series(1, 50) n;
  INSERT INTO grants (user_id, id, client_id, scope, generation, expires_at, created_at)
    SELECT 'u' || n, 'g', 'c', 1, 1, 1, 1 FROM generate_series(1, 50) n;
  INSERT INTO revoked_access_tokens (user_id, grant_id, generation, expires_at)
    SELECT 'u' || n, 'g', 1, 1 FROM generate_series(1, 50) n;
  INSERT INTO rate_windows (key, started_at, ends_at, count)
    SELECT 'k' || n, 1, 1, 1 FROM generate_series(1, 50) n`;

describe('what many requests ask in one statement', () => {
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

  /** A plan is kept for as long as nothing tells PostgreSQL that the tables have grown. */
  test('is looked up by its key in the order it was sent, even if it was planned while the tables were small', async () => {
    const client = await connectForRequests(url, 5_000);
    try {
      for (const { batch, types } of await hotSteps()) {
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

/** Answers each statement with the keys it was sent, the last first. */
class Echo {
  readonly sent: Statement[] = [];
  readonly steps = new StatementBatcher(1_000, async (statement) => {
    this.sent.push(statement);
    const [keys] = statement.values as [string];
    if (statement.sql === TAKE.single) return [[keys]];
    const names = keys.slice(2, -2).split('","');
    return names.map((name, index): RowArray => [index + 1, name]).toReversed();
  });
}

const NAMES = ['c', 'a', 'e', 'b', 'd'];

test('requests of one turn go in one statement, sorted, and each gets its own answer in whatever order they come', async () => {
  const echo = new Echo();
  const rows = await Promise.all(NAMES.map((name) => echo.steps.run(TAKE, [name])));
  assert.deepEqual(
    rows,
    NAMES.map((name) => [name]),
  );
  assert.deepEqual(echo.sent, [{ sql: TAKE.batch, values: ['{"a","b","c","d","e"}'] }]);
});

test('one alone goes as itself', async () => {
  const echo = new Echo();
  assert.deepEqual(await echo.steps.run(TAKE, ['a']), ['a']);
  assert.deepEqual(echo.sent, [{ sql: TAKE.single, values: ['a'] }]);
});

test('what comes while one is on its way goes with the next, half of it at a time', async () => {
  const echo = new Echo();
  const first = echo.steps.run(TAKE, ['first']);
  await new Promise((resolve) => setImmediate(resolve));
  const rest = Array.from({ length: 150 }, (_, n) => echo.steps.run(TAKE, [`n${n}`]));
  assert.deepEqual(await first, ['first']);
  assert.deepEqual(
    await Promise.all(rest),
    rest.map((_, n) => [`n${n}`]),
  );
  const sizes = echo.sent.slice(1).map(({ values }) => String(values[0]).split(',').length);
  assert.deepEqual([echo.sent[0]!.sql, sizes], [TAKE.single, [75, 38, 19, 16, 2]]);
});

test('who has waited too long is refused and not sent, so that the outcome is known', async () => {
  const sent: Statement[] = [];
  const steps = new StatementBatcher(-1, async (statement) => {
    sent.push(statement);
    return [];
  });
  const results = await Promise.allSettled(NAMES.map((name) => steps.run(TAKE, [name])));
  for (const result of results)
    assert.ok(result.status === 'rejected' && result.reason instanceof DatabaseUnavailable);
  assert.deepEqual(sent, []);
  assert.equal(steps.busy, false);
});

/** A statement on the rows of many users would be one on many shards. */
test('on Citus each goes as itself', async () => {
  const echo = new Echo();
  echo.steps.batching = false;
  const rows = await Promise.all(NAMES.map((name) => echo.steps.run(TAKE, [name])));
  assert.deepEqual(
    rows,
    NAMES.map((name) => [name]),
  );
  assert.deepEqual(
    echo.sent,
    NAMES.map((name) => ({ sql: TAKE.single, values: [name] })),
  );
});
