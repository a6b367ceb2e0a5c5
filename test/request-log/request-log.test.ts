import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { EntryBudget } from '../../src/request-log/entry-budget.ts';
import { Sweeper } from '../../src/sweeper.ts';
import { CALLBACK, Developer, pathOf } from '../support/developer.ts';
import {
  authorizePath,
  DAY,
  MINUTE,
  newVerifier,
  Service,
  type TestClient,
  type Visitor,
} from '../support/service.ts';

const HOSTILE = '<script>alert(1)</script>"\'&';

describe('the request log', () => {
  let service: Service;
  let owner: Developer;
  let client: TestClient;
  let user: Visitor;
  before(async () => {
    service = await Service.start();
    owner = await Developer.arrive(service);
    user = await service.signedIn();
  });
  beforeEach(async () => {
    await owner.visitor.staySignedIn();
    await user.staySignedIn();
    client = await service.createClient({ ownerId: owner.visitor.user.id, redirectUris: [CALLBACK] });
  });
  after(() => service.stop());

  const list = async (query = '') => (await owner.get(`${pathOf(client)}/requests${query}`)).text;
  const entries = (page: string) => page.match(/<li class="stack tight">/g)?.length ?? 0;
  const written = async () => {
    await service.app.requestLog.flush();
    return service.rows(`SELECT * FROM request_log WHERE client_id = '${client.clientId}' ORDER BY id`);
  };

  it('shows requests, newest first, and a hint while it is empty', async () => {
    assert.match(await list(), /No requests yet/);
    const tokens = await service.tokens(client, user);
    await service.revoke(client, tokens.refresh_token);
    await service.revoke(client, 'unknown');
    const titles = [...(await list()).matchAll(/requests\/\w+">([^<]+)</g)].map(([, title]) => title);
    assert.deepEqual(
      titles.map((title) => title!.slice(0, 20)),
      [
        'Nothing to revoke',
        'The session was revo',
        'The code was exchang',
        'The user allowed it,',
        'The consent screen w',
      ],
    );
  });

  it('filters by outcome, endpoint and time, and has pages', async () => {
    await service.tokens(client, user);
    await service.refresh(client, 'nonsense');
    assert.equal(entries(await list('?outcome=failure')), 1);
    assert.equal(entries(await list('?outcome=success&endpoint=token')), 1);
    assert.equal(entries(await list('?endpoint=authorize')), 2);
    service.clock.advance(2 * DAY);
    assert.match(await list('?time=day'), /Nothing like this/);
    assert.equal(entries(await list('?time=week')), 4);
    assert.equal(
      entries(await list('?outcome=x&endpoint=%27&time=%00&before=%27')),
      4,
      'nonsense chooses nothing',
    );
    for (let i = 0; i < 56; i++) {
      if (i % 28 === 0) service.clock.advance(MINUTE);
      await service.revoke(client, 'x');
    }
    const first = await list();
    assert.equal(entries(first), 50);
    const older = /href="([^"]+)" rel="next"/.exec(first)![1]!.replaceAll('&amp;', '&');
    const second = (await owner.get(older)).text;
    assert.equal(entries(second), 10);
    assert.match(second, />Newest</);
  });

  it('escapes everything that a stranger sent', async () => {
    const headers = { 'user-agent': HOSTILE };
    const uri = `https://app.example/callback?${HOSTILE}\0\u0007`;
    await service.get(authorizePath({ ...client, redirectUri: uri }, newVerifier()), headers);
    await service.post('/oauth/token', { client_id: client.clientId, grant_type: HOSTILE }, headers);
    const [first, second] = await written();
    for (const row of [first, second]) {
      const { status, text } = await owner.get(`${pathOf(client)}/requests/${row!.id}`);
      assert.equal(status, 200);
      assert.ok(!text.includes('<script>alert'), 'no script');
      assert.match(text, /User agent<\/dt><dd>&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;&#39;&amp;/);
    }
    const { text } = await owner.get(`${pathOf(client)}/requests/${first!.id}`);
    assert.ok(text.includes('␀␇'), 'control characters are shown as pictures');
  });

  it('is visible to the owner only: everyone else gets 404', async () => {
    const reply = await service.refresh(client, 'nonsense');
    const { refresh_token } = await service.tokens(client, user);
    await service.refresh(client, refresh_token);
    await service.refresh(client, refresh_token);
    await service.app.requestLog.flush();
    const id = String(reply.headers.get('x-request-id'));
    const [incident] = await service.app.store.incidents.list(client.clientId, 1);
    const stranger = await Developer.arrive(service);
    await service.createClient({ ownerId: stranger.visitor.user.id });
    const nowhere = await stranger.get('/dashboard/apps/app_that_never_was');
    for (const end of ['requests', `requests/${id}`, 'incidents', `incidents/${incident!.id}`, 'usage']) {
      const path = `${pathOf(client)}/${end}`;
      assert.equal((await owner.get(path)).status, 200, path);
      const theirs = await stranger.get(path);
      assert.deepEqual([theirs.status, theirs.text], [404, nowhere.text], path);
      const signedOut = await service.get(path);
      assert.match(signedOut.headers.get('location')!, /^\/login\?/);
    }
    for (const visit of [(path: string) => stranger.get(path), (path: string) => service.get(path)]) {
      const [there, never] = [await visit(`/errors/${id}`), await visit(`/errors/${'0'.repeat(23)}`)];
      assert.equal(there.status, 404);
      assert.equal(there.text.replaceAll(id, ''), never.text.replaceAll('0'.repeat(23), ''));
    }
    const other = await service.createClient({ ownerId: owner.visitor.user.id });
    assert.equal(
      (await owner.get(`${pathOf(other)}/requests/${id}`)).status,
      404,
      'nor under another application',
    );
    assert.equal((await owner.get(`${pathOf(client)}/requests/%00`)).status, 404);
    assert.equal((await owner.get('/errors/%00')).status, 404);
  });

  it('has no entries for unknown applications, whose errors look the same', async () => {
    const before = (await service.rows('SELECT COUNT(*) AS n FROM request_log'))[0]!.n;
    const unknown = { ...client, clientId: 'app_that_never_was' };
    const [known, strange] = [
      await service.refresh(client, 'x', { client_secret: 'no' }),
      await service.refresh(unknown, 'x'),
    ];
    const shape = ({ body, headers }: typeof known) => [
      Object.keys(body),
      headers.has('x-request-id'),
      body.error,
    ];
    assert.deepEqual(shape(strange), shape(known));
    await service.app.requestLog.flush();
    const after = (await service.rows('SELECT COUNT(*) AS n FROM request_log'))[0]!.n;
    assert.equal(Number(after), Number(before) + 1);
  });

  it('does not affect revocation responses, byte for byte', async () => {
    const { refresh_token } = await service.tokens(client, user);
    const [real, none] = [await service.revoke(client, refresh_token), await service.revoke(client, 'x')];
    assert.equal(real.text, none.text);
    const names = (reply: typeof real) => [...reply.headers.keys()];
    assert.deepEqual(names(real), names(none));
    assert.ok(!real.headers.has('x-request-id'));
  });

  it('contains no credential', async () => {
    const issued = await service.authorize(client, user);
    await service.exchange(client, issued, { redirect_uri: 'https://wrong.example/' });
    await service.exchange(client, issued, { client_secret: 'a wrong secret that is long' });
    const { body } = await service.exchange(client, issued);
    await service.refresh(client, `${body.refresh_token}x`);
    await service.revoke(client, String(body.access_token));
    const rows = JSON.stringify(await written());
    const { code, verifier } = issued;
    for (const secret of [
      code,
      verifier,
      client.clientSecret,
      'a wrong secret that is long',
      body.refresh_token,
      body.access_token,
    ])
      assert.ok(!rows.includes(String(secret).slice(-8)), String(secret));
    assert.ok(
      !service.logged.join('').includes('wrong.example'),
      'and the service’s own log nothing that was sent',
    );
  });

  it('keeps the newest entries of an application, for 30 days at most', async () => {
    const { requestLog } = service.app.store;
    for (let i = 0; i < 12; i++) await service.revoke(client, 'x');
    const all = await written();
    await requestLog.trim(client.clientId, true, 5);
    assert.deepEqual(
      (await written()).map(({ id }) => id),
      all.slice(-5).map(({ id }) => id),
    );
    service.clock.advance(30 * DAY + MINUTE);
    await new Sweeper(service.app).step();
    assert.equal((await written()).length, 0);
  });

  it('limits entries per application, separately for strangers', () => {
    const budget = new EntryBudget();
    const taken = (id: string, proven: boolean, now: number) =>
      Array.from({ length: 1000 }, () => budget.take(id, proven, now)).filter(Boolean).length;
    assert.equal(taken('a', false, 0), 50);
    assert.equal(taken('a', true, 0), 100, 'a stranger uses none of it');
    assert.equal(taken('a', true, 1000), 20);
    assert.equal(taken('b', true, 1000), 100, 'another application neither');
  });
});

describe('the request log under overload', () => {
  it('drops and counts entries, and no response waits or fails', async () => {
    const service = await Service.start({ POSTERN_METRICS_PORT: '0', POSTERN_RATE_LIMIT: '100000' });
    try {
      const client = await service.createClient();
      const responses = await Promise.all(Array.from({ length: 400 }, () => service.revoke(client, 'x')));
      assert.ok(responses.every(({ status }) => status === 200));
      await service.app.requestLog.flush();
      const dropped = /^postern_log_entries_dropped_total (\d+)$/m.exec(await service.app.metrics!.text());
      const [{ n }] = (await service.rows('SELECT COUNT(*) AS n FROM request_log')) as [{ n: number }];
      assert.ok(Number(dropped![1]) > 0);
      assert.equal(Number(n) + Number(dropped![1]), 400);
      const [{ total }] = (await service.rows('SELECT SUM(requests) AS total FROM usage_hours')) as [
        { total: number },
      ];
      assert.equal(Number(total), 400, 'dropped entries still count as usage');
    } finally {
      await service.stop();
    }
  });

  it('loses only entries while the database fails', async () => {
    const service = await Service.start();
    try {
      const client = await service.createClient();
      await service.refresh(client, 'x');
      const write = service.app.store.requestLog.write;
      service.app.store.requestLog.write = () => Promise.reject(new Error('away'));
      await service.app.requestLog.flush();
      service.app.store.requestLog.write = write;
      assert.equal((await service.refresh(client, 'x')).status, 400);
      await service.app.requestLog.flush();
      assert.equal((await service.rows('SELECT * FROM request_log')).length, 1);
    } finally {
      await service.stop();
    }
  });
});
