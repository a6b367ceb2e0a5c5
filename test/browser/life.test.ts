import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { pathTo } from '../support/mails.ts';
import { authorizePath, newVerifier, Service, type TestClient, type Tokens } from '../support/service.ts';
import {
  type Callback,
  DESKTOP,
  launchBrowser,
  NO_BROWSER,
  newVisit,
  PHONE,
  startCallback,
} from './browser.ts';

const PASSWORD = 'seven green bicycles';

describe("a user's whole way in a real browser", { skip: NO_BROWSER }, () => {
  let service: Service;
  let browser: Browser;
  let callback: Callback;
  before(async () => {
    [service, browser, callback] = await Promise.all([Service.start(), launchBrowser(), startCallback()]);
  });
  after(async () => {
    await browser?.close();
    await callback?.stop();
    await service?.stop();
  });

  const ways = [
    { name: 'on a desktop', options: { viewport: DESKTOP } },
    { name: 'on a phone', options: { viewport: PHONE, hasTouch: true, isMobile: true } },
    { name: 'without script', options: { viewport: DESKTOP, javaScriptEnabled: false } },
  ];
  for (const { name, options } of ways) {
    test(name, async () => {
      const { context, page } = await newVisit(browser, options);
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      const email = `ada-${name.replaceAll(' ', '-')}@example.com`;
      const client = await service.createClient({ name: 'Photo Wall', redirectUris: [callback.url] });
      await signUp(page, email);
      const tokens = await connect(page, client);
      assert.equal((await service.userinfo(tokens.access_token)).body.email, email);
      await disconnect(page);
      assert.equal((await service.userinfo(tokens.access_token)).status, 401);
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }

  async function signUp(page: Page, email: string): Promise<void> {
    await page.goto(`${service.url}/`);
    await page.getByRole('link', { name: 'Sign up' }).click();
    await page.getByLabel('Name').fill('Ada Lovelace');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
    await page.goto(service.url + (await pathTo(service, email)));
    await page.getByRole('button', { name: 'Confirm and sign in' }).click();
    await page.getByText('your account is ready').waitFor();
  }

  /** Starts at the application's authorization request; allowing redirects to the application's origin with a code. */
  async function connect(page: Page, client: TestClient): Promise<Tokens> {
    const verifier = newVerifier();
    await page.goto(service.url + authorizePath(client, verifier, { state: 'xyz' }));
    await page.getByRole('heading', { name: 'Let Photo Wall use your account?' }).waitFor();
    await page.getByText('Ada Lovelace').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${callback.url}?**`);
    await page.getByRole('heading', { name: 'Welcome back' }).waitFor();
    const landed = new URL(page.url());
    assert.notEqual(landed.origin, new URL(service.url).origin);
    assert.equal(landed.searchParams.get('state'), 'xyz');
    const response = await service.exchange(client, { code: landed.searchParams.get('code')!, verifier });
    assert.equal(response.status, 200);
    return response.body as Tokens;
  }

  async function disconnect(page: Page): Promise<void> {
    await page.goto(`${service.url}/account/connections`);
    await page.getByRole('heading', { name: 'Photo Wall' }).waitFor();
    await page.getByRole('link', { name: 'Disconnect Photo Wall' }).click();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('Nothing is connected').waitFor();
  }

  test('denying redirects to the other origin as well', async () => {
    const user = await service.createUser();
    const { context, page } = await newVisit(browser);
    const client = await service.createClient({ redirectUris: [callback.url] });
    await page.goto(service.url + authorizePath(client, newVerifier()));
    await page.getByLabel('E-mail').fill(user.email);
    await page.getByLabel('Password', { exact: true }).fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const [deny, allow] = await Promise.all(
      ['Deny', 'Allow'].map((name) => page.getByRole('button', { name }).boundingBox()),
    );
    assert.deepEqual(
      [deny?.width, deny?.height, deny?.y],
      [allow?.width, allow?.height, allow?.y],
      'equally easy',
    );
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL(`${callback.url}?**`);
    assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
    await context.close();
  });

  test('a double click on Allow creates one grant', async () => {
    const user = await service.createUser();
    const { context, page } = await newVisit(browser, { javaScriptEnabled: false });
    const client = await service.createClient({ redirectUris: [callback.url] });
    await page.goto(service.url + authorizePath(client, newVerifier()));
    await page.getByLabel('E-mail').fill(user.email);
    await page.getByLabel('Password', { exact: true }).fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Allow' }).dblclick();
    // The second click aborts the navigation of the first, so waitForURL could reject.
    await eventually(() => page.url().startsWith(`${callback.url}?`));
    const events = await service.app.store.securityEvents.list(user.id, 10);
    assert.equal(events.filter(({ kind }) => kind === 'granted').length, 1);
    await context.close();
  });
});
