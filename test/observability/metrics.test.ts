import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { serveMetrics } from '../../src/observability/metrics-listener.ts';
import { Sweeper } from '../../src/sweeper.ts';
import {
  HOUR,
  hiddenFields,
  PASSWORD,
  Service,
  type TestClient,
  type Tokens,
  type Visitor,
} from '../support/service.ts';
import { Samples } from './samples.ts';

let service: Service;
let client: TestClient;
let visitor: Visitor;

beforeEach(async () => {
  service = await Service.start({ POSTERN_METRICS_PORT: '0', POSTERN_RATE_LIMIT: '20' });
  client = await service.createClient();
  visitor = await service.signedIn();
});
afterEach(() => service.stop());

const scrape = async () => new Samples(await service.app.metrics!.text());
const revocations = async (reason: string) =>
  (await scrape()).value('postern_grants_revoked_total', { reason }) ?? 0;
const refreshed = async (token: string) => (await service.refresh(client, token)).body as Tokens;

test('requests are counted by route, status and error, and timed', async () => {
  const { access_token, refresh_token } = await service.tokens(client, visitor);
  await service.userinfo(access_token);
  await service.userinfo('nonsense');
  await service.refresh(client, refresh_token, { client_secret: 'wrong' });
  await visitor.decide(`/oauth/authorize?${authorization()}`, 'deny');
  const samples = await scrape();
  const requests = (labels: Record<string, string>) => samples.value('postern_requests_total', labels);
  assert.equal(requests({ method: 'POST', route: '/oauth/token', status: '200' }), 1);
  assert.equal(requests({ method: 'GET', route: '/oauth/userinfo', status: '200' }), 1);
  assert.equal(requests({ route: '/oauth/userinfo', status: '401', error: 'invalid_token' }), 1);
  assert.equal(requests({ route: '/oauth/token', status: '401', error: 'invalid_client' }), 1);
  assert.equal(requests({ route: '/oauth/authorize', status: '303', error: 'access_denied' }), 1);
  const timed = { method: 'GET', route: '/oauth/userinfo' };
  assert.equal(samples.value('postern_request_duration_seconds_count', timed), 2);
  assert.ok(samples.value('postern_request_duration_seconds_sum', timed)! > 0);
});

const authorization = () =>
  new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    code_challenge: 'a'.repeat(43),
  });

test('requests for unknown paths are a single series', async () => {
  const seriesBefore = (await scrape()).series('postern_requests_total');
  for (let i = 0; i < 50; i++) await service.send(`/${i}/x?q=${i}`, { method: i % 2 ? 'PUT' : 'GET' });
  await service.send('/oauth/token', { method: 'DELETE' });
  const samples = await scrape();
  assert.equal(samples.value('postern_requests_total', { route: 'none', status: '404' }), 50);
  assert.equal(samples.value('postern_requests_total', { route: 'none', status: '405' }), 1);
  assert.equal(samples.series('postern_requests_total') - seriesBefore, 2);
});

test('revoked grants are counted by reason', async () => {
  const reused = await service.tokens(client, visitor);
  await refreshed(reused.refresh_token);
  await service.refresh(client, reused.refresh_token);
  await service.refresh(client, reused.refresh_token);
  assert.equal(await revocations('refresh_token_reuse'), 1);

  const issued = await service.authorize(client, visitor);
  await service.exchange(client, issued);
  await service.exchange(client, issued);
  assert.equal(await revocations('code_replay'), 1);

  const revoked = await service.tokens(client, visitor);
  await service.revoke(client, revoked.refresh_token);
  await service.revoke(client, revoked.refresh_token);
  assert.equal(await revocations('revoked_by_client'), 1);
});

test('grants revoked by their user are counted too: by disconnecting, and by deleting the account', async () => {
  const own = await service.createClient();
  const person = await service.signedIn();
  const confirm = async (path: string, fields: Record<string, string> = {}) => {
    const form = new RegExp(`<form[^>]*action="${path}"[\\s\\S]*?</form>`).exec(
      (await person.get(path)).text,
    )![0];
    return person.post(path, { ...hiddenFields(form), ...fields });
  };
  await service.tokens(own, person);
  await service.tokens(own, person);
  await confirm(`/account/connections/${own.clientId}/disconnect`);
  assert.equal(await revocations('disconnected_by_user'), 2);
  await service.tokens(own, person);
  await confirm('/account/delete', { current_password: PASSWORD });
  assert.equal(await revocations('account_deleted'), 1);
});

test('rate-limit refusals are counted by counter', async () => {
  for (let i = 0; i < 23; i++) await service.revoke(client, 'nothing');
  assert.equal((await scrape()).value('postern_rate_limit_refusals_total', { counter: 'address' }), 3);
});

test("live grants are those of the sweeper's last full pass", async () => {
  const own = await Service.start({ POSTERN_METRICS_PORT: '0', POSTERN_ACCESS_TOKEN_TTL: '60' });
  try {
    const [app, person] = [await own.createClient(), await own.signedIn()];
    const sweeper = new Sweeper(own.app);
    const live = async () => {
      while (!(await sweeper.step()));
      return new Samples(await own.app.metrics!.text()).value('postern_grants_live');
    };
    assert.equal(new Samples(await own.app.metrics!.text()).value('postern_grants_live'), undefined);
    const first = await own.tokens(app, person);
    await own.tokens(app, person);
    assert.equal(await live(), 2);
    await own.revoke(app, first.refresh_token);
    assert.equal(await live(), 1);
    own.clock.advance(31 * 24 * HOUR);
    assert.equal(await live(), 0);
  } finally {
    await own.stop();
  }
});

test('database time, event-loop lag and dropped log entries are measured', async () => {
  await service.app.store.sessions.end('a single write');
  const samples = await scrape();
  for (const operation of ['read', 'write', 'transaction'])
    assert.ok(samples.value('postern_database_duration_seconds_count', { operation })! > 0, operation);
  assert.ok(samples.value('nodejs_eventloop_lag_p99_seconds') !== undefined);
  assert.equal(samples.value('postern_log_entries_dropped_total'), 0);
  service.app.metrics!.logEntriesDropped(3);
  assert.equal((await scrape()).value('postern_log_entries_dropped_total'), 3);
});

test('metrics contain nothing that identifies a person or an application', async () => {
  const { access_token } = await service.tokens(client, visitor);
  await service.userinfo(access_token);
  const text = await service.app.metrics!.text();
  for (const word of [client.clientId, visitor.user.email, visitor.user.id, 'postern_at_', '127.0.0.1'])
    assert.ok(!text.includes(word), word);
});

test('the listener serves GET /metrics and nothing else; the service itself does not', async () => {
  const listener = await serveMetrics(service.app.metrics!, '127.0.0.1', 0);
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  try {
    const response = await fetch(`${url}/metrics`);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
    assert.match(await response.text(), /^# HELP postern_requests_total /m);
    assert.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 405);
    for (const path of ['/', '/health', '/metrics/', '/oauth/token'])
      assert.equal((await fetch(url + path)).status, 404, path);
    assert.equal((await service.get('/metrics')).status, 404);
  } finally {
    listener.close();
  }
});

test('without the setting there are no metrics, and the database driver is not wrapped', async () => {
  const plain = await Service.start();
  assert.equal(plain.app.metrics, undefined);
  assert.equal(plain.app.tracer, undefined);
  await plain.stop();
});
