import assert from 'node:assert/strict';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { endAll } from '../support/postern-process.ts';
import { withPostern } from '../support/prepared-data.ts';
import { type Reply, type Service, Visitor } from '../support/service.ts';

/** Each test mostly waits for a process of its own. */
const CONCURRENT = { concurrency: 4, timeout: 180_000 };

after(endAll);

describe('an SQLite database that fails under a running service', CONCURRENT, () => {
  /** It is known that nothing was changed. */
  const fails = ({ status, headers, body }: Reply) =>
    assert.deepEqual([status, body.error, headers.get('retry-after')], [503, 'temporarily_unavailable', '5']);

  test('moved away: every request fails, nothing is confirmed, and all works again once it is back', () =>
    withPostern(async (prepared, postern) => {
      const [first, second, revoked] = await prepared.tokens(3);
      const [code] = await prepared.codes(1);
      const { client, databasePath } = prepared;
      const parked = `${databasePath}.parked`;
      assert.equal((await postern.revoke(client, revoked!.refresh_token)).status, 200);
      assert.equal((await postern.userinfo(first!.access_token)).status, 200);

      renameSync(databasePath, parked);
      fails(await postern.refresh(client, first!.refresh_token));
      fails(await postern.revoke(client, second!.refresh_token));
      fails(await postern.revoke(client, second!.access_token));
      fails(await postern.exchange(client, code!));
      // Reads fail a moment later; until then a revoked token stays revoked.
      assert.notEqual((await postern.userinfo(revoked!.access_token)).status, 200);
      await eventually(async () => (await postern.get('/health')).status === 503);
      fails(await postern.userinfo(first!.access_token));
      fails(await postern.userinfo(revoked!.access_token));
      // An unknown client: its application cannot come from the cache.
      const stranger = { client_id: 'app_unknown', client_secret: 'x', token: 'x' };
      fails(await postern.post('/oauth/revoke', stranger));
      const page = await postern.get(`/oauth/authorize?client_id=app_unknown`);
      assert.equal(page.status, 503);
      assert.equal(existsSync(databasePath), false);

      renameSync(parked, databasePath);
      await eventually(async () => (await postern.get('/health')).status === 200);
      assert.equal((await postern.refresh(client, first!.refresh_token)).status, 200);
      assert.equal((await postern.refresh(client, second!.refresh_token)).status, 200);
      assert.equal((await postern.exchange(client, code!)).status, 200);
      assert.equal((await postern.userinfo(second!.access_token)).status, 200);
      assert.equal((await postern.userinfo(revoked!.access_token)).status, 401);
    }));

  test('deleted: requests keep failing and no empty database is created', () =>
    withPostern(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const { client, databasePath } = prepared;
      for (const path of [databasePath, `${databasePath}-wal`, `${databasePath}-shm`]) {
        if (existsSync(path)) renameSync(path, join(prepared.folder, 'gone'));
      }
      fails(await postern.refresh(client, tokens!.refresh_token));
      await eventually(async () => (await postern.get('/health')).status === 503);
      fails(await postern.userinfo(tokens!.access_token));
      assert.equal(existsSync(databasePath), false);
      assert.equal((await postern.stop()).code, 0);
    }));

  test('locked briefly by another process: requests wait and succeed', () =>
    withPostern(async (prepared, postern) => {
      const tokens = await prepared.tokens(5);
      const other = new DatabaseSync(prepared.databasePath);
      try {
        other.exec('BEGIN IMMEDIATE');
        let responses = 0;
        const waiting = tokens.map(async ({ refresh_token }) => {
          const response = await postern.refresh(prepared.client, refresh_token);
          responses++;
          return response.status;
        });
        // Reads are served in the meantime.
        for (const { access_token } of tokens)
          assert.equal((await postern.userinfo(access_token)).status, 200);
        assert.equal(responses, 0);
        other.exec('COMMIT');
        assert.deepEqual(await Promise.all(waiting), [200, 200, 200, 200, 200]);
      } finally {
        other.close();
      }
    }));

  test('locked for long: 503 within a bounded time, no effect, and all works again afterwards', () =>
    withPostern(async (prepared, postern) => {
      const [first, second] = await prepared.tokens(2);
      const { client } = prepared;
      const other = new DatabaseSync(prepared.databasePath);
      try {
        other.exec('BEGIN IMMEDIATE');
        const began = performance.now();
        const [refreshed, revoked] = await Promise.all([
          postern.refresh(client, first!.refresh_token),
          postern.revoke(client, second!.refresh_token),
        ]);
        const took = performance.now() - began;
        fails(refreshed);
        fails(revoked);
        assert.ok(took < 30_000, `it took ${Math.round(took)} ms`);
        assert.equal((await postern.userinfo(second!.access_token)).status, 200);
        other.exec('ROLLBACK');
        assert.equal((await postern.refresh(client, first!.refresh_token)).status, 200);
        assert.equal((await postern.revoke(client, second!.refresh_token)).status, 200);
        assert.equal((await postern.userinfo(second!.access_token)).status, 401);
      } finally {
        other.close();
      }
    }));

  test('an unexpected error is server_error for the client; only the log has the details', () =>
    withPostern(async (prepared, postern) => {
      const [tokens] = await prepared.tokens(1);
      const { client } = prepared;
      const visitor = new Visitor(postern as unknown as Service, prepared.user);
      assert.equal((await visitor.signIn()).status, 303);
      const other = new DatabaseSync(prepared.databasePath);
      other.exec('DROP TABLE grants; DROP TABLE sessions');
      other.close();

      const replies = [
        await postern.refresh(client, tokens!.refresh_token),
        await postern.revoke(client, tokens!.refresh_token),
        await postern.revoke(client, tokens!.access_token),
        await postern.userinfo(tokens!.access_token),
      ];
      const bodies = replies.map(({ body: { error_uri: _, ...body } }) => body);
      for (const [index, response] of replies.entries()) {
        assert.deepEqual([response.status, response.body.error], [500, 'server_error']);
        assert.deepEqual(Object.keys(bodies[index]!).sort(), ['error', 'error_description']);
        assert.deepEqual(bodies[index], bodies[0]);
      }
      const page = await visitor.get('/login');
      assert.equal(page.status, 500);
      assert.match(page.headers.get('content-type')!, /text\/html/);
      for (const { text } of [...replies, page])
        assert.doesNotMatch(text, /grants|sessions|table|sql|\.ts\b/i);

      const { code, stdout } = await postern.stop();
      assert.equal(code, 0);
      assert.match(stdout, /no such table: grants/);
      assert.match(stdout, /no such table: sessions/);
      const requestId = /Request ([\w-]+)/.exec(page.text)?.[1];
      assert.ok(requestId && stdout.includes(`"request_id":"${requestId}"`));
    }));
});
