import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { newId } from '../../src/protocol/credentials.ts';
import { estimate, registerOf } from '../../src/protocol/distinct-count.ts';
import { Developer, pathOf } from '../support/developer.ts';
import { DAY, Service, type TestClient, type Visitor } from '../support/service.ts';

describe('usage', () => {
  let service: Service;
  let developer: Developer;
  let client: TestClient;
  beforeEach(async () => {
    service = await Service.start();
    developer = await Developer.arrive(service);
    client = await service.createClient({ ownerId: developer.visitor.user.id });
  });
  afterEach(() => service.stop());

  const registers = new Set<number>();
  /** Two users in one register count as one (for three users a chance of 1 in 340): these are not. */
  const signedIn = async (): Promise<Visitor> => {
    const user = await service.createUser();
    const { register } = registerOf(user.id);
    if (registers.has(register)) return signedIn();
    registers.add(register);
    return service.signedIn(user);
  };

  const page = async (span = 'day') => (await developer.get(`${pathOf(client)}/usage?span=${span}`)).text;

  it('counts requests, users, errors by reason and the peak against the limit', async () => {
    assert.match(await page(), /None in this time/);
    for (let i = 0; i < 2; i++) await service.tokens(client, await signedIn());
    for (let i = 0; i < 3; i++) await service.refresh(client, 'nonsense');
    const text = await page();
    assert.match(
      text,
      /<dt>Requests<\/dt><dd>9</,
      'two consent screens, two codes, two exchanges, three failures',
    );
    assert.match(text, /<dt>Failed<\/dt><dd>3<small>of all \(33\.3 %\)/);
    assert.match(text, /<dt>Active users<\/dt><dd>2</);
    assert.match(text, /peak 5 of 30<small>a minute; about 10 more active users fit/);
    assert.match(text, /Not a refresh token<\/td><td class="number">3</);
    assert.match(
      text,
      /<svg class="chart"[\s\S]*<th scope="row">/,
      'a chart, and a table that says the same',
    );
    assert.ok(!text.includes('of 30 requests'), 'nobody is warned yet');
  });

  it('warns at 80 % of the limit, on this page and on the application’s', async () => {
    for (let i = 0; i < 24; i++) await service.revoke(client, 'x');
    assert.match(await page(), /The busiest minute used 24 of 30 requests/);
    assert.match((await developer.get(pathOf(client))).text, /The busiest minute used 24 of 30 requests/);
  });

  it('a day, a week and a month', async () => {
    for (let i = 0; i < 2; i++) await service.tokens(client, await signedIn());
    for (let i = 0; i < 20; i++) await service.revoke(client, 'x');
    service.clock.advance(3 * DAY);
    await service.tokens(client, await signedIn());
    assert.match(await page('day'), /<dt>Active users<\/dt><dd>1</);
    assert.match(await page('week'), /<dt>Active users<\/dt><dd>3</);
    assert.match(await page('month'), /<dt>Requests<\/dt><dd>29</);
  });
});

describe('counting distinct users', () => {
  it('is nearly exact for a few and within a few per cent for many, over merged sketches', () => {
    for (const many of [0, 1, 10, 1_000, 50_000]) {
      const sketch = Array.from({ length: many }, () => registerOf(newId()));
      const error = Math.abs(estimate([...sketch, ...sketch]) - many);
      assert.ok(error <= Math.max(1, 0.1 * many), `${many}: off by ${error}`);
    }
  });
});
