import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  authorizePath,
  MINUTE,
  newVerifier,
  type Reply,
  SECOND,
  Service,
  type TestClient,
  type TestUser,
  type Visitor,
} from '../support/service.ts';
import { seriousFaults } from './axe.ts';
import { DESKTOP, launchBrowser, NO_BROWSER, newVisit, PHONE } from './browser.ts';

/** A developer has only the error response, and a browser with a session. */
describe('a developer finds out why a request failed', { skip: NO_BROWSER }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  let developer: TestUser;
  let user: Visitor;
  let client: TestClient;

  before(async () => {
    service = await Service.startWhereItSays();
    browser = await launchBrowser();
    ({ page } = await newVisit(browser));
    developer = await service.createUser('grace@photos.example', 'Grace Hopper');
    user = await service.signedIn();
    client = await service.createClient({
      ownerId: developer.id,
      redirectUris: ['https://app.example/callback'],
    });
    await page.goto(`${service.url}/login`);
    await signIn(page);
  });
  beforeEach(async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(DESKTOP);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function signIn(at: Page): Promise<void> {
    await at.getByLabel('E-mail').fill(developer.email);
    await at.getByLabel('Password', { exact: true }).fill(developer.password);
    await at.getByRole('button', { name: 'Sign in' }).click();
  }

  /** Follows error_uri and reads the text under “Why it failed”. */
  async function why(reply: Reply): Promise<string> {
    assert.notEqual(reply.status, 200);
    await page.goto(String(reply.body.error_uri));
    return page.getByRole('region', { name: 'Why it failed' }).innerText();
  }

  it('without a session nothing is disclosed, and signing in leads to the entry', async () => {
    const issued = await service.authorize(client, user);
    const reply = await service.exchange(client, issued, { redirect_uri: 'https://app.example/callback/' });
    const visit = await newVisit(browser);
    const response = await visit.page.goto(String(reply.body.error_uri));
    assert.equal(response!.status(), 404);
    await visit.page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(visit.page);
    await visit.page.waitForURL(`**/dashboard/apps/${client.clientId}/requests/*`);
    const marked = await visit.page.locator('mark.sent').allInnerTexts();
    assert.deepEqual(marked, ['/'], 'the one character that is too much is marked');
    await visit.context.close();
  });

  it('a wrong verifier', async () => {
    const issued = await service.authorize(client, user);
    const reply = await service.exchange(client, issued, { code_verifier: newVerifier() });
    assert.match(await why(reply), /hashes to .+…, the code was issued for .+…/);
  });

  it('an expired code', async () => {
    const issued = await service.authorize(client, user);
    service.clock.advance(5 * MINUTE + 12 * SECOND);
    assert.match(await why(await service.exchange(client, issued)), /expired 12 s before this request/);
  });

  it('a secret from another environment', async () => {
    const reply = await service.refresh(client, 'x', { client_secret: 'postern_cs_of_another_environment' });
    assert.match(await why(reply), /ends in …ment, is no secret of this application/);
  });

  it('two parallel refreshes, with a link to the incident', async () => {
    const { refresh_token } = await service.tokens(client, user);
    const both = await Promise.all([
      service.refresh(client, refresh_token),
      service.refresh(client, refresh_token),
    ]);
    const refused = both.find(({ status }) => status === 400)!;
    assert.match(await why(refused), /one rotation old[\s\S]*single-flight/);
    await page.getByRole('link', { name: /See the incident/ }).click();
    await page.getByText('most likely two parallel refreshes').waitFor();
  });

  it('an unregistered redirect_uri, from the page that the user saw', async () => {
    await page.goto(
      service.url + authorizePath({ ...client, redirectUri: 'https://app.example/' }, newVerifier()),
    );
    await page.getByText('For the developer').click();
    await page.getByRole('link', { name: 'see this request in its log' }).click();
    assert.equal((await page.locator('mark.expected').allInnerTexts()).join(''), 'callback');
  });

  it('walks through the playground with a real consent screen', async () => {
    await page.goto(`${service.url}/dashboard/apps/${client.clientId}`);
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('link', { name: 'Go to authorization' }).click();
    await page.getByRole('button', { name: /Allow/ }).click();
    await page.getByRole('button', { name: 'Exchange the code' }).click();
    await page.getByRole('button', { name: 'Read userinfo' }).click();
    await page.getByText(developer.email).first().waitFor();
    await page.getByRole('button', { name: 'Two parallel refreshes' }).click();
    await page.getByRole('link', { name: /Why it failed/ }).click();
    await page.getByText('A refresh token was used twice').first().waitFor();
  });

  for (const [colorScheme, viewport] of [
    ['light', DESKTOP],
    ['dark', PHONE],
  ] as const) {
    it(`its pages are accessible: ${colorScheme}, ${viewport.width} wide`, async () => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      const { refresh_token } = await service.tokens(client, user);
      for (let i = 0; i < 2; i++) await service.refresh(client, refresh_token);
      await service.app.requestLog.flush();
      const { requestLog, incidents } = service.app.store;
      const [failure] = await requestLog.list(client.clientId, { outcome: 'failure' }, 1);
      const [incident] = await incidents.list(client.clientId, 1);
      const ends = [
        '',
        '/requests',
        `/requests/${failure!.id}`,
        '/incidents',
        `/incidents/${incident!.id}`,
        '/usage',
      ];
      const paths = ends.map((end) => `/dashboard/apps/${client.clientId}${end}`);
      for (const path of [...paths, '/dashboard/playground']) {
        await page.goto(service.url + path);
        for (const summary of await page.locator('summary').all()) await summary.click();
        assert.deepEqual(await seriousFaults(page), [], path);
        const overflow = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
        assert.equal(await page.evaluate(overflow), false, `${path} scrolls sideways`);
      }
    });
  }
});
