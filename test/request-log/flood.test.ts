import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import { NO_DETAILS } from '../../src/protocol/failure-reason.ts';
import type { Diagnostics } from '../../src/request-log/diagnostics.ts';
import { Developer } from '../support/developer.ts';
import { mailsTo } from '../support/mails.ts';
import { Service, type TestClient, type Visitor } from '../support/service.ts';

describe('a flood of invented client_ids', () => {
  let service: Service;
  let owner: Developer;
  let user: Visitor;
  let client: TestClient;
  before(async () => {
    service = await Service.start({ POSTERN_RATE_LIMIT: '100000' });
    user = await service.signedIn();
  });
  beforeEach(async () => {
    owner = await Developer.arrive(service);
    client = await service.createClient({ ownerId: owner.visitor.user.id });
    await service.app.requestLog.flush();
  });
  after(() => service.stop());

  const flood = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        service.post('/oauth/token', { grant_type: 'refresh_token', client_id: `app_${newId()}` }),
      ),
    );

  const reasons = async () => {
    const sql = `SELECT reason FROM request_log WHERE client_id = '${client.clientId}' ORDER BY id`;
    return (await service.rows(sql)).map(({ reason }) => reason);
  };

  it("hides neither an application's own requests nor those sent in its name", async () => {
    const { refresh_token } = await service.tokens(client, user);
    await flood(150);
    await service.refresh(client, refresh_token);
    await service.refresh({ ...client, clientSecret: 'wrong' }, refresh_token);
    await service.app.requestLog.flush();
    assert.deepEqual(await reasons(), [
      'consent_shown',
      'code_issued',
      'code_exchanged',
      'refreshed',
      'secret_wrong',
    ]);
  });

  it('hides nothing of an application that is not in memory either', async () => {
    await flood(150);
    await service.post('/oauth/token', { grant_type: 'password', client_id: client.clientId });
    await service.app.requestLog.flush();
    assert.deepEqual(await reasons(), ['unsupported_grant_type']);
  });

  /** As the server records a request that was refused. */
  function record(diagnostics: Diagnostics): void {
    const request = { id: newId(), method: 'POST', ip: '', userAgent: '', rateLimit: undefined };
    const response = { error: 'invalid_request', diagnostics } as const;
    service.app.requestLog.record('token', { request, response, at: service.clock.ms, durationMs: 1 });
  }
  const failure = { reason: 'json', details: NO_DETAILS } as const;
  const recordInvented = (count: number) => {
    for (let n = 0; n < count; n++) record({ claimedClientId: `app_${n}`, failure });
  };

  it('leaves room in a full queue for applications in memory', async () => {
    await service.refresh(client, 'x');
    recordInvented(10_000);
    record({ claimedClientId: client.clientId, failure });
    await service.app.requestLog.flush();
    assert.deepEqual((await reasons()).toSorted(), ['json', 'not_a_refresh_token']);
  });

  it('does not renew the budget of requests that strangers send in the name of an application', async () => {
    await service.refresh(client, 'x');
    const { requestLog } = service.app;
    const sendMany = async () => {
      for (let n = 0; n < 60; n++) record({ claimedClientId: client.clientId, failure });
      await requestLog.flush();
      return (await reasons()).length;
    };
    const before = await sendMany();
    for (let n = 1; n <= 12_000; n++) {
      record({ claimedClientId: `app_${n}`, failure });
      if (n % 500 === 0) await requestLog.flush();
    }
    const more = (await sendMany()) - before;
    assert.ok(more < 50, `${more} more entries after the budget was used up`);
  });

  it('loses no incident and no mail when the queue is full and the budget used up', async () => {
    const { refresh_token } = await service.tokens(client, user);
    await service.refresh(client, refresh_token);
    await service.app.requestLog.flush();
    for (let n = 0; n < 110; n++) record({ clientId: client.clientId, failure });
    for (let n = 0; n < 6_000; n++) record({ clientId: `app_${n % 100}`, failure });
    assert.equal((await service.refresh(client, refresh_token)).status, 400);
    await service.app.requestLog.flush();
    const incidents = await service.app.store.incidents.list(client.clientId, 10);
    assert.deepEqual(
      incidents.map(({ kind, presentations }) => [kind, presentations.at(-1)!.reason]),
      [['refresh_token_reuse', 'refresh_token_reused_grant_revoked']],
    );
    assert.equal((await mailsTo(service, owner.visitor.user.email)).length, 1);
  });

  it('records an incident once the database works again', async (t) => {
    const { refresh_token } = await service.tokens(client, user);
    await service.refresh(client, refresh_token);
    const { incidents } = service.app.store;
    const failing = t.mock.method(incidents, 'record', async () => {
      throw new Error('the database is away');
    });
    await service.refresh(client, refresh_token);
    await service.app.requestLog.flush();
    assert.equal(failing.mock.callCount(), 1);
    failing.mock.restore();
    await service.app.requestLog.flush();
    assert.equal((await incidents.list(client.clientId, 10)).length, 1);
  });

  it('keeps the newest incidents of an application, with a bounded number of uses', async () => {
    const { incidents } = service.app.store;
    const use = { at: 0, endpoint: 'token', error: '', reason: 'refreshed', generation: 1 } as const;
    const uses = Array.from({ length: 100 }, (_, n) => ({ ...use, id: `${n}`, address: '', userAgent: '' }));
    const incident = { clientId: client.clientId, at: 0, kind: 'code_replay', grantTail: 'x' } as const;
    for (let n = 1_000; n < 1_300; n++)
      await incidents.record({ ...incident, id: `${n}`, generation: 1, presentations: uses });
    const kept = await incidents.list(client.clientId, 1_000);
    assert.deepEqual([kept.length, kept[0]!.id, kept[0]!.presentations.length], [200, '1299', 50]);
  });
});
