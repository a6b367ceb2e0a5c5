import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { Service, type TestUser } from '../support/service.ts';
import { seriousFaults } from './axe.ts';
import { DESKTOP, launchBrowser, NO_BROWSER, newVisit, PHONE, SCHEMES } from './browser.ts';

describe('a developer at the dashboard', { skip: NO_BROWSER }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    const limits = { POSTERN_APP_CREATION_LIMIT: '2' };
    [service, browser] = await Promise.all([Service.start(limits), launchBrowser()]);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function visit(options: BrowserContextOptions = {}): Promise<{ page: Page; user: TestUser }> {
    const user = await service.createUser();
    const { page } = await newVisit(browser, { baseURL: service.url, ...options });
    await page.goto('/dashboard');
    await page.fill('#email', user.email);
    await page.fill('#password', user.password);
    await page.click('main button.primary');
    await page.waitForURL('/dashboard');
    return { page, user };
  }

  async function create(page: Page, name = 'Photo Wall'): Promise<{ clientId: string; secret: string }> {
    await page.goto('/dashboard/apps/new');
    await page.fill('#name', name);
    await page.fill('#redirect_uris', 'https://photos.example/callback');
    await page.click('text=Create application');
    return credentials(page);
  }

  const credentials = async (page: Page) => ({
    clientId: (await page.textContent('#client-id'))!,
    secret: (await page.textContent('#client-secret'))!,
  });

  const works = async (client_id: string, client_secret: string) =>
    (await service.post('/oauth/revoke', { token: 'x', client_id, client_secret })).status === 200;

  /** Creates, edits, rotates, disables and deletes an application, using only what the pages show. */
  async function wholeLife(page: Page, look: (page: Page) => Promise<void>): Promise<void> {
    await look(page);
    await page.click('text=New application');
    await look(page);
    await page.fill('#name', 'Photo Wall');
    await page.fill('#redirect_uris', 'http://photos.example/callback');
    await page.click('text=Create application');
    assert.match((await page.textContent('#redirect_uris-error'))!, /^Line 1 uses plain http/);
    await look(page);
    await page.fill('#redirect_uris', 'https://photos.example/callback');
    await page.click('text=Create application');
    await page.waitForSelector('h1:has-text("Application created")');
    await look(page);
    const { clientId, secret } = await credentials(page);
    assert.ok(await works(clientId, secret));

    await page.click('text=I have stored it');
    await look(page);
    await page.fill('#name', 'Photo Hall');
    await page.check('input[name=scope_email][value=optional]');
    await page.click('text=Save changes');
    await page.waitForSelector('text=Saved.');
    assert.equal(await page.textContent('h1'), 'Photo Hall');
    assert.ok(await page.isChecked('input[name=scope_email][value=optional]'));

    await page.click('text=New secret');
    const { secret: second } = await credentials(page);
    assert.ok((await works(clientId, secret)) && (await works(clientId, second)));
    await page.click('text=I have stored it');
    await look(page);
    await page.click(`li:has-text("…${secret.slice(-4)}") >> text=Remove`);
    await look(page);
    await page.click('button:has-text("Remove secret")');
    await page.waitForSelector('text=The secret is removed');
    assert.equal(await works(clientId, secret), false);
    assert.ok(await works(clientId, second));

    await page.click('button:has-text("Disable")');
    await page.waitForSelector('text=This application is disabled');
    assert.equal(await works(clientId, second), false);
    await look(page);
    await page.click('button:has-text("Enable")');
    await page.waitForSelector('text=The application is enabled');
    assert.ok(await works(clientId, second));

    await page.click('text=Delete…');
    await page.fill('#name', 'Photo Wall');
    await page.click('text=Delete this application');
    assert.match((await page.textContent('#name-error'))!, /not its name/);
    await look(page);
    await page.fill('#name', 'Photo Hall');
    await page.click('text=Delete this application');
    await page.waitForSelector('text=The application is deleted');
    assert.equal(await works(clientId, second), false);
  }

  /** No horizontal scrolling, also on a phone. */
  async function fits(page: Page): Promise<void> {
    const [content, window] = (await page.evaluate(
      '[document.documentElement.scrollWidth, innerWidth]',
    )) as number[];
    assert.ok(content! <= window!, `${page.url()} is ${content} wide in a window of ${window}`);
  }

  for (const [width, viewport] of [
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ] as const) {
    it(`creates, rotates, disables and deletes an application at ${width} width`, async () => {
      const { page } = await visit({ viewport });
      await wholeLife(page, fits);
    });

    it(`does the same without script at ${width} width`, async () => {
      const { page } = await visit({ viewport, javaScriptEnabled: false });
      await wholeLife(page, async () => {
        assert.equal(await page.locator('[data-copy]:visible').count(), 0, 'no button that does nothing');
      });
    });
  }

  it('copies the secret with one click and confirms it', async () => {
    const { page } = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { secret } = await create(page);
    const button = page.locator('[data-copy=client-secret]');
    assert.equal((await button.innerText()).split('\n')[0], 'Copy');
    await button.click();
    await page.waitForSelector('[data-copy=client-secret]:has-text("Copied")');
    await button.click();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), secret);
    assert.equal(await page.textContent('[role=status].visually-hidden'), 'Copied');
    await page.waitForSelector('[data-copy=client-secret]:has-text("Copy client secret")');
  });

  it('creates one application when the page with the secret is reloaded', async () => {
    const { page, user } = await visit();
    const { clientId, secret } = await create(page);
    await page.reload();
    assert.equal(new URL(page.url()).pathname, `/dashboard/apps/${clientId}`);
    assert.ok(!(await page.content()).includes(secret));
    assert.equal((await service.app.store.ownedApplications(user.id).list()).length, 1);
  });

  it('has no layout shift when the script runs', async () => {
    const { page } = await visit({ viewport: PHONE });
    await page.addInitScript(`
      window.shifted = 0;
      new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shifted += entry.value; })
        .observe({ type: 'layout-shift', buffered: true });`);
    const { clientId } = await create(page);
    for (const path of ['/dashboard', '/dashboard/apps/new', `/dashboard/apps/${clientId}`]) {
      await page.goto(path, { waitUntil: 'load' });
      assert.equal(await page.evaluate('window.shifted'), 0, path);
    }
  });

  it('wraps long names and URLs', async () => {
    const { page } = await visit({ viewport: { width: 320, height: 700 } });
    const { clientId } = await create(page, 'W'.repeat(80));
    await fits(page);
    for (const path of ['/dashboard', `/dashboard/apps/${clientId}`, `/dashboard/apps/${clientId}/delete`]) {
      await page.goto(path);
      await fits(page);
    }
  });

  for (const colorScheme of SCHEMES) {
    it(`has no serious accessibility fault on any page, ${colorScheme}`, async () => {
      const { page } = await visit({ colorScheme });
      const check = async () => assert.deepEqual(await seriousFaults(page), [], page.url());
      await wholeLife(page, check);
      await create(page);
      await page.goto('/dashboard');
      await check();
      await page.goto('/dashboard/apps/new');
      await page.fill('#name', 'One too many');
      await page.fill('#redirect_uris', 'https://photos.example/callback');
      await page.click('text=Create application');
      await page.waitForSelector('text=The next one is possible');
      await check();
      await page.goto('/dashboard/apps/nothing');
      await check();
    });
  }

  it('creates and deletes with the keyboard alone', async () => {
    const { page } = await visit();
    await tabTo(page, 'a.button.primary');
    await page.keyboard.press('Enter');
    await page.waitForURL('/dashboard/apps/new');
    await tabTo(page, '#name');
    await page.keyboard.type('Typed');
    await tabTo(page, '#redirect_uris');
    await page.keyboard.type('https://typed.example/callback');
    await tabTo(page, 'input[name=scope_email]');
    await page.keyboard.press('ArrowDown');
    await tabTo(page, 'button.primary');
    await page.keyboard.press('Enter');
    await page.waitForSelector('h1:has-text("Application created")');
    const { clientId } = await credentials(page);
    const application = await service.app.store.applications.find(clientId);
    assert.equal(application?.optionalScope, 2, 'the arrow chose "optional"');
    await tabTo(page, 'a.button.primary');
    await page.keyboard.press('Enter');
    await page.waitForURL(`/dashboard/apps/${clientId}`);
    await tabTo(page, 'a.button.danger');
    await page.keyboard.press('Enter');
    await page.waitForURL(`/dashboard/apps/${clientId}/delete`);
    await tabTo(page, '#name');
    await page.keyboard.type('Typed');
    await page.keyboard.press('Enter');
    await page.waitForSelector('text=The application is deleted');
    assert.equal(await service.app.store.applications.find(clientId), undefined);
  });

  /** Moves the focus there by keyboard; it must be visible on the way. */
  async function tabTo(page: Page, selector: string): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab');
      const [there, outline] = (await page.evaluate(`[
        document.activeElement.matches(${JSON.stringify(selector)}),
        getComputedStyle(document.activeElement).outlineStyle,
      ]`)) as [boolean, string];
      assert.notEqual(outline, 'none', 'the focus can be seen');
      if (there) return;
    }
    assert.fail(`${selector} cannot be reached with the Tab key`);
  }
});
