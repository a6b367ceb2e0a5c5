import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Developer, formFields, textOf } from '../support/developer.ts';
import { MINUTE, type Reply, Service } from '../support/service.ts';

const PATH = '/dashboard/playground';

describe('the playground', () => {
  let service: Service;
  let developer: Developer;
  before(async () => {
    service = await Service.startWhereItSays();
    developer = await Developer.arrive(service);
  });
  after(() => service.stop());

  /** Presses the button with this label. */
  async function press(page: Reply, label: string): Promise<Reply> {
    const form = page.text.split('<form').find((part) => part.includes(`>${label}</button>`));
    assert.ok(form, `there is a button ${label}`);
    return developer.visitor.post(PATH, formFields(`<form${form}`, PATH));
  }

  async function begin(): Promise<Reply> {
    service.clock.advance(2 * MINUTE);
    const page = await developer.get(PATH);
    const path = /href="(\/oauth\/authorize[^"]+)"/.exec(page.text)![1]!.replaceAll('&amp;', '&');
    const back = new URL(await developer.visitor.allow(path));
    assert.equal(back.pathname, `${PATH}/callback`);
    return developer.get(back.pathname + back.search);
  }

  const statuses = ({ text }: Reply) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  const reasonBehind = async ({ text }: Reply) => {
    const moved = await developer.get(/href="(\/errors\/[^"]+)"/.exec(text)![1]!);
    return (await developer.get(moved.headers.get('location')!)).text;
  };

  it('walks authorize, code, tokens, userinfo, refresh, reuse', async () => {
    const issued = await press(await begin(), 'Exchange the code');
    assert.deepEqual(statuses(issued), ['200']);
    assert.match(issued.text, /POST \/oauth\/token HTTP\/1\.1\nHost: 127/);
    assert.match(issued.text, /curl -i [\s\S]*--data-urlencode/);
    assert.match(issued.text, /await fetch\(/);
    const who = await press(issued, 'Read userinfo');
    assert.ok(who.text.includes(developer.visitor.user.id));
    const renewed = await press(who, 'Refresh');
    assert.deepEqual(statuses(renewed), ['200']);
    const reuse = await press(renewed, 'Use the old refresh token again');
    assert.deepEqual(statuses(reuse), ['400', '401'], 'refused, and the access token is revoked as well');
    assert.match(await reasonBehind(reuse), /one rotation old/);
  });

  it('revokes', async () => {
    const issued = await press(await begin(), 'Exchange the code');
    assert.deepEqual(statuses(await press(issued, 'Revoke')), ['200', '401']);
  });

  it('shows a wrong verifier, and the code still works after it', async () => {
    const wrong = await press(await begin(), 'Wrong verifier');
    assert.deepEqual(statuses(wrong), ['400']);
    assert.match(await reasonBehind(wrong), /The verifier hashes to/);
    assert.deepEqual(statuses(await press(wrong, 'Exchange the code')), ['200']);
  });

  it('shows an expired code and explains how', async () => {
    service.clock.advance(2 * MINUTE);
    const expired = await press(await developer.get(PATH), 'Expired code');
    assert.match(expired.text, /How this is done/);
    assert.match(await reasonBehind(expired), /The code expired 12 s before this request/);
  });

  it('shows two parallel refreshes', async () => {
    const issued = await press(await begin(), 'Exchange the code');
    const both = await press(issued, 'Two parallel refreshes');
    assert.deepEqual(statuses(both).toSorted(), ['200', '400']);
    const path = /href="(\/dashboard\/apps\/playground_[0-9a-f]+)\/requests"/.exec(both.text)![1]!;
    assert.match((await developer.get(`${path}/incidents`)).text, /most likely two parallel refreshes/);
  });

  it('shows the callback as it came, also without a query', async () => {
    const shown = async (query: string) =>
      textOf((await developer.get(`${PATH}/callback${query}`)).text, 'callback').replaceAll('\n', '');
    const uri = `${service.app.config.baseUrl}${PATH}/callback`;
    assert.equal(await shown(''), uri);
    assert.equal(await shown('?error=access_denied&state=x'), `${uri}?error=access_denied&state=x`);
  });

  it('shows a 429', async () => {
    service.clock.advance(2 * MINUTE);
    const refused = await press(await developer.get(PATH), 'Rate limit (429)');
    assert.deepEqual(statuses(refused), ['429']);
    assert.match(refused.text, /31 requests were sent/);
    assert.match(refused.text, /retry-after: \d+/);
  });

  it('is not listed, counts against no creation limit and belongs to its developer alone', async () => {
    assert.ok(!(await developer.get('/dashboard')).text.includes('playground_'));
    const path = /(\/dashboard\/apps\/playground_[0-9a-f]+)\//.exec((await developer.get(PATH)).text)![1]!;
    assert.equal((await developer.get(`${path}/requests`)).status, 200);
    const stranger = await Developer.arrive(service);
    assert.equal((await stranger.get(`${path}/requests`)).status, 404);
    assert.match((await service.get(PATH)).headers.get('location')!, /^\/login\?/);
    assert.equal((await developer.visitor.post(PATH, { step: 'limit' })).status, 403, 'no form of ours');
    assert.equal((await stranger.get(`${PATH}/callback?code=x&state=%3Cscript%3E`)).status, 200);
    assert.ok(!(await stranger.get(`${PATH}/callback?code=x&state=<script>`)).text.includes('<script>\n'));
  });

  it("is deleted with its developer's account and does not prevent that", async () => {
    const leaving = await Developer.arrive(service);
    await leaving.get(PATH);
    const page = await leaving.get('/account/delete');
    assert.ok(!page.text.includes('You still have applications'));
    const { password } = leaving.visitor.user;
    const fields = formFields(page.text, '/account/delete');
    await leaving.visitor.post('/account/delete', { ...fields, current_password: password, password });
    assert.deepEqual(await service.app.store.ownedApplications(leaving.visitor.user.id).list(), []);
  });
});
