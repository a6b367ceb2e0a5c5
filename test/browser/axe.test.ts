import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { hashMailedToken, newMailedToken } from '../../src/accounts/mailed-token.ts';
import { pathTo } from '../support/mails.ts';
import {
  authorizePath,
  DAY,
  newVerifier,
  Service,
  type TestClient,
  type TestUser,
} from '../support/service.ts';
import { seriousFaults } from './axe.ts';
import {
  type Callback,
  DESKTOP,
  launchBrowser,
  NO_BROWSER,
  newVisit,
  PHONE,
  startCallback,
} from './browser.ts';

async function signIn(page: Page, service: Service, user: TestUser): Promise<void> {
  await page.goto(`${service.url}/login`);
  await page.getByLabel('E-mail').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/account');
}

describe('accessibility', { skip: NO_BROWSER }, () => {
  let service: Service;
  let browser: Browser;
  let user: TestUser;
  let client: TestClient;
  let callback: Callback;
  before(async () => {
    [service, browser, callback] = await Promise.all([Service.start(), launchBrowser(), startCallback()]);
    user = await service.createUser();
    client = await service.createClient({ optionalScope: 'email' });
    const visitor = await service.signedIn(user);
    await service.tokens(client, visitor);
    const { refresh_token } = await service.tokens(client, visitor);
    await service.refresh(client, refresh_token);
    await service.refresh(client, refresh_token);
  });
  after(async () => {
    await browser?.close();
    await callback?.stop();
    await service?.stop();
  });

  /** A page to check: its path, and what to do there first. */
  type Stop = readonly [path: string, act?: (page: Page) => Promise<unknown>];
  const press = (name: string) => (page: Page) => page.getByRole('button', { name }).click();
  const outside = (): Stop[] => [
    ['/'],
    ['/login'],
    ['/login?done=reset'],
    ['/signup'],
    [
      '/signup',
      async (page) => {
        await page.getByLabel('Name').fill('Ada');
        await page.getByLabel('E-mail').fill('ada@example.com');
        await page.getByLabel('Password', { exact: true }).fill('password123');
        await press('Create account')(page);
        await page.getByText('first that are tried').waitFor();
      },
    ],
    ['/forgot-password'],
    ['/signup/confirm?token=x'],
    ['/oauth/authorize?client_id=x', (page) => page.getByText('For the developer').click()],
    ['/account/nowhere'],
  ];
  const inside = (): Stop[] => [
    ['/account?done=profile'],
    ['/account', (page) => page.getByText('Change the address').click()],
    [
      '/account',
      async (page) => {
        await page.getByLabel('Picture').fill('http://x.example');
        await press('Save profile')(page);
        await page.getByText('See below').waitFor();
      },
    ],
    ['/account/connections'],
    [`/account/connections/${client.clientId}/disconnect`],
    ['/account/delete'],
    ['/logout'],
    [authorizePath(client, newVerifier())],
  ];

  // Colours do not depend on the width, so two of the four combinations are enough.
  for (const [scheme, viewport] of [
    ['light', DESKTOP],
    ['dark', PHONE],
  ] as const) {
    test(`axe finds nothing serious: ${scheme}, ${viewport.width} wide`, async () => {
      const { context, page } = await newVisit(browser, { colorScheme: scheme, viewport });
      const look = async ([path, act]: Stop) => {
        await page.goto(service.url + path);
        await act?.(page);
        assert.deepEqual(await seriousFaults(page), [], path);
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth > document.documentElement.clientWidth',
        );
        assert.equal(overflow, false, `${path} scrolls sideways`);
      };
      for (const stop of outside()) await look(stop);
      await signIn(page, service, user);
      for (const stop of inside()) await look(stop);
      await context.close();
    });
  }

  test('axe finds nothing serious on the pages of mailed links', async () => {
    const { context, page } = await newVisit(browser);
    await page.goto(`${service.url}/forgot-password`);
    await page.getByLabel('E-mail').fill(user.email);
    await press('Send the link')(page);
    assert.deepEqual(await seriousFaults(page), []);
    await page.goto(service.url + (await pathTo(service, user.email)));
    await page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
    assert.deepEqual(await seriousFaults(page), []);
    for (const [path, purpose] of [
      ['/verify-email', 'change_email'],
      ['/undo-email-change', 'undo_email_change'],
    ] as const) {
      const token = newMailedToken();
      const [tokenHash, expiresAt] = [hashMailedToken(token), service.clock.ms + DAY];
      const link = { userId: user.id, tokenHash, purpose, email: 'other@example.com', expiresAt };
      await service.app.store.mailLinks.create(link);
      await page.goto(`${service.url}${path}?token=${user.id}.${token}`);
      await page.locator('#password').waitFor();
      assert.deepEqual(await seriousFaults(page), [], path);
    }
    await context.close();
  });

  test('sign-in and consent work with the keyboard alone', async () => {
    const { context, page } = await newVisit(browser);
    const app = await service.createClient({ optionalScope: 'email', redirectUris: [callback.url] });
    const verifier = newVerifier();
    await page.goto(service.url + authorizePath(app, verifier));
    const focused = () => page.evaluate('document.activeElement.name || document.activeElement.textContent');
    assert.equal(await focused(), 'email', 'one can type at once');
    await page.keyboard.type(user.email);
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'password');
    await page.keyboard.type(user.password);
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Show');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Sign in');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Let / }).waitFor();

    const order = [];
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press('Tab');
      order.push(await focused());
      assert.ok(await outlined(page), `the focus on ${order.at(-1)} can be seen`);
    }
    assert.deepEqual(order, ['Postern', 'scope_email', 'decision', 'decision', 'Use another account']);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Space');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${callback.url}?**`);
    const code = new URL(page.url()).searchParams.get('code')!;
    const response = await service.exchange(app, { code, verifier });
    assert.equal(response.body.scope, 'profile', 'the space bar left the optional scope out');
    await context.close();
  });

  test('everything on the account page works with the keyboard alone', async () => {
    const { context, page } = await newVisit(browser);
    await signIn(page, service, user);
    const selector =
      'main a[href], main button:not([hidden]), main input:not([type=hidden]):not([tabindex="-1"]), main summary';
    const all = `[...document.querySelectorAll('${selector}')].filter((element) => element.checkVisibility())`;
    const expected = (await page.evaluate(`${all}.length`)) as number;
    const seen = new Set<number>();
    for (let i = 0; i < expected + 12; i++) {
      await page.keyboard.press('Tab');
      seen.add((await page.evaluate(`${all}.indexOf(document.activeElement)`)) as number);
    }
    seen.delete(-1);
    assert.equal(seen.size, expected);
    await page.locator('summary').focus();
    await page.keyboard.press('Enter');
    assert.ok(await page.getByLabel('New e-mail').isVisible());
    await context.close();
  });
});

const outlined = (page: Page): Promise<boolean> =>
  page.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'");
