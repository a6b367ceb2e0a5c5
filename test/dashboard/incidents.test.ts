import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { OutcomeUnknown } from '../../src/store/errors.ts';
import { Developer, pathOf } from '../support/developer.ts';
import { mails, mailsTo } from '../support/mails.ts';
import { HOUR, refreshForm, SECOND, Service, type TestClient, type Visitor } from '../support/service.ts';

const SERVER = { 'user-agent': 'photo-wall/2.1', 'x-forwarded-for': '203.0.113.7' };
const THIEF = { 'user-agent': 'curl/8.9', 'x-forwarded-for': '198.51.100.66' };

describe('incidents', () => {
  let service: Service;
  let developer: Developer;
  let client: TestClient;
  let user: Visitor;
  let refreshToken: string;

  before(async () => {
    service = await Service.start({ POSTERN_TRUST_PROXY: 'true' });
  });
  beforeEach(async () => {
    developer = await Developer.arrive(service);
    user = await service.signedIn();
    client = await service.createClient({ ownerId: developer.visitor.user.id });
    refreshToken = (await service.tokens(client, user)).refresh_token;
  });
  after(() => service.stop());

  const refreshFrom = (headers: Record<string, string>, token = refreshToken) =>
    service.post('/oauth/token', refreshForm(client, token), headers);

  async function incident(): Promise<string> {
    const list = await developer.get(`${pathOf(client)}/incidents`);
    const path = new RegExp(`href="(${pathOf(client)}/incidents/[^"]+)"`).exec(list.text)?.[1];
    assert.ok(path, 'the incident is listed');
    return (await developer.get(path)).text;
  }

  it('two parallel refreshes from one address: the diagnosis says so, and how to fix it', async () => {
    const [a, b] = await Promise.all([refreshFrom(SERVER), refreshFrom(SERVER)]);
    assert.deepEqual([a!.status, b!.status].toSorted(), [200, 400]);
    const page = await incident();
    assert.match(page, /Same address, \d+ ms apart: most likely two parallel refreshes/);
    assert.match(page, /single-flight/);
  });

  it('another network and another client: most likely a leak, with both in the timeline', async () => {
    await refreshFrom(SERVER);
    service.clock.advance(90 * SECOND);
    await refreshFrom(THIEF);
    service.clock.advance(SECOND);
    await refreshFrom(THIEF);
    const page = await incident();
    assert.match(page, /Another network and another client, 90 s apart: most likely a leak/);
    for (const text of ['203.0.113.7', 'photo-wall/2.1', '198.51.100.66', 'curl/8.9'])
      assert.ok(page.includes(text), text);
    assert.equal(page.match(/198\.51\.100\.66/g)!.length, 2, 'requests after the revocation are listed too');
  });

  it('the same client later: the new token was not stored', async () => {
    await refreshFrom(SERVER);
    service.clock.advance(HOUR);
    await refreshFrom(SERVER);
    assert.match(await incident(), /Same address and client, 60 minutes apart: .* lost or not stored/);
  });

  it('a retry after a lost response of the database: the diagnosis says so, and suspects no leak', async (t) => {
    const { grants } = service.app.store;
    const rotate = grants.rotate.bind(grants);
    const losing = t.mock.method(grants, 'rotate', async (rotation: Parameters<typeof rotate>[0]) => {
      await rotate(rotation);
      throw new OutcomeUnknown('the database connection was lost');
    });
    assert.equal((await refreshFrom(SERVER)).status, 500);
    losing.mock.restore();
    // The database is away for longer than one attempt to write the log.
    const write = t.mock.method(service.app.store.requestLog, 'write', () =>
      Promise.reject(new Error('away')),
    );
    await service.app.requestLog.flush();
    write.mock.restore();
    service.clock.advance(SECOND);
    assert.equal((await refreshFrom(SERVER)).status, 400);
    const page = await incident();
    assert.match(
      page,
      /The response to the first attempt was lost \(database timeout at [-\d]+ [:\d]+ UTC\)/,
    );
    assert.match(page, /Nothing is wrong with your application/);
  });

  it('a code used twice is an incident as well', async () => {
    const issued = await service.authorize(client, user);
    await service.exchange(client, issued);
    await service.exchange(client, issued);
    assert.match(await incident(), /two parallel exchanges of one code/);
  });

  it("another application presents a token: the grant's application sees it, without the address", async () => {
    const other = await service.createClient();
    await refreshFrom(SERVER);
    await service.post('/oauth/token', refreshForm(other, refreshToken), THIEF);
    const page = await incident();
    assert.match(page, /Another application presented a token of this session: most likely a leak/);
    assert.ok(!page.includes('198.51.100.66'));
  });

  it('the owner gets a mail with a link, only one for many incidents, and the user sees it too', async () => {
    const { email } = developer.visitor.user;
    for (let i = 0; i < 3; i++) {
      const { refresh_token } = await service.tokens(client, user);
      await refreshFrom(SERVER, refresh_token);
      await refreshFrom(SERVER, refresh_token);
    }
    await service.app.requestLog.flush();
    const [mail, ...more] = await mailsTo(service, email);
    assert.equal(more.length, 0);
    const { pathname } = new URL(/https?:\/\/\S+/.exec(mail!.text.split('most likely was:')[1]!)![0]);
    assert.equal((await developer.get(pathname)).status, 200, 'the link opens');
    assert.ok(!mail!.text.includes(refreshToken.slice(-8)));
    assert.match((await user.get('/account')).text, /an old token of it was used again/);
    service.clock.advance(HOUR);
    const { refresh_token } = await service.tokens(client, user);
    await refreshFrom(SERVER, refresh_token);
    await refreshFrom(SERVER, refresh_token);
    await service.app.requestLog.flush();
    assert.equal((await mailsTo(service, email)).length, 2, 'an hour later there is another');
    assert.ok((await mails(service)).length >= 2);
  });
});
