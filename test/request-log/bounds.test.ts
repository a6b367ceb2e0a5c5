import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CALLBACK, Developer, pathOf } from '../support/developer.ts';
import { DAY, Service, type TestClient } from '../support/service.ts';

const MB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Heap in use once everything unreachable is gone. */
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe('the request log', () => {
  let service: Service;
  let owner: Developer;
  let client: TestClient;
  before(async () => {
    service = await Service.start();
    owner = await Developer.arrive(service);
    client = await service.createClient({ ownerId: owner.visitor.user.id, redirectUris: [CALLBACK] });
  });
  after(() => service.stop());

  it('keeps nothing of client_ids that cannot exist: strangers do not fill the memory', async () => {
    const send = (n: number) =>
      service.post('/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: 'x',
        client_id: `${n} ${'a'.repeat(60_000)}`,
        client_secret: 'x',
      });
    await send(0);
    const before = heapUsed();
    for (let n = 1; n <= 300; n++) await send(n);
    await service.app.requestLog.flush();
    const grown = (heapUsed() - before) / MB;
    assert.ok(grown < 5, `300 requests of 60 KB left ${grown.toFixed(1)} MB behind`);
  });

  it('is not flushed by a stranger who opens an error address', async (t) => {
    const flush = t.mock.method(service.app.requestLog, 'flush');
    const refused = await service.refresh(client, 'nonsense');
    const { pathname } = new URL(String(refused.body.error_uri));
    const stranger = await fetch(service.url + pathname, { redirect: 'manual' });
    assert.equal(stranger.status, 404);
    assert.equal(flush.mock.callCount(), 0);
    assert.equal((await owner.get(pathname)).status, 303);
    assert.equal(flush.mock.callCount(), 1);
  });

  it('is flushed a few times per second at most, however often its pages are opened', async (t) => {
    const flush = t.mock.method(service.app.requestLog, 'flush');
    const from = performance.now();
    for (let round = 0; round < 5; round++)
      await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          owner.get(`${pathOf(client)}/${['requests', 'incidents', 'usage', `requests/${n}`][n % 4]}`),
        ),
      );
    const seconds = (performance.now() - from) / 1000;
    const max = Math.ceil(seconds * 10) + 1;
    assert.ok(flush.mock.callCount() <= max, `${flush.mock.callCount()} flushes in ${seconds} s`);
  });

  it('shows a request to a reader who comes right after it, while another reader waits', async () => {
    const reader = owner.get(`${pathOf(client)}/requests`);
    const refused = await service.refresh(client, 'nonsense');
    const { pathname } = new URL(String(refused.body.error_uri));
    assert.equal((await owner.get(pathname)).status, 303);
    await reader;
  });

  it('says that the application is disabled while an old secret is still in its overlap', async () => {
    const { applications } = service.app.store;
    const now = service.clock.ms;
    const rotated = await service.createClient({ ownerId: owner.visitor.user.id, redirectUris: [CALLBACK] });
    await applications.rotateSecret(rotated.clientId, 'a new secret', now + DAY, now);
    await applications.setDisabled(rotated.clientId, true, now);
    await service.refresh(rotated, 'nonsense');
    await service.app.requestLog.flush();
    const sql = `SELECT reason, details FROM request_log WHERE client_id = '${rotated.clientId}'`;
    const [entry] = await service.rows(sql);
    assert.deepEqual({ ...entry }, { reason: 'application_disabled', details: '{"disabledBy":"operator"}' });
  });

  it('remembers that the application was disabled when it was refused, though it is enabled again since', async () => {
    const { applications } = service.app.store;
    const client = await service.createClient({ ownerId: owner.visitor.user.id, redirectUris: [CALLBACK] });
    await applications.setDisabled(client.clientId, true, service.clock.ms);
    await service.refresh(client, 'nonsense');
    await applications.setDisabled(client.clientId, false, service.clock.ms);
    await service.app.requestLog.flush();
    const sql = `SELECT reason FROM request_log WHERE client_id = '${client.clientId}'`;
    assert.deepEqual(
      (await service.rows(sql)).map(({ reason }) => reason),
      ['application_disabled'],
    );
  });
});
