import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import chromium from '@sparticuz/chromium';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
  chromium as playwright,
} from 'playwright-core';

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 900 };
export const SCHEMES = ['light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

/** No requests other than the test's own: no updates, no safe-browsing lists, no telemetry. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-sync',
  '--metrics-recording-only',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-pings',
];

/** The npm package has a build for Linux on x86-64 only. */
const FROM_NPM = process.platform === 'linux' && process.arch === 'x64';
const INSTALLED = '/usr/bin/chromium';

/** An installed Chromium: the configured one, or where npm's cannot run, any that is found. */
const OWN_BROWSER =
  process.env.POSTERN_TEST_CHROMIUM || (!FROM_NPM && existsSync(INSTALLED) ? INSTALLED : undefined);

/** Value for `skip`: why there is no browser, or false. Nothing is downloaded. */
export const NO_BROWSER: string | false =
  OWN_BROWSER || FROM_NPM
    ? false
    : `@sparticuz/chromium does not run on ${process.platform} ${process.arch}: install Chromium or set POSTERN_TEST_CHROMIUM`;

/** A real Chromium, one for a whole test file. Close it in `after`. */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: OWN_BROWSER ?? (await chromium.executablePath()),
    // Of the package's own list of options only this one is needed, where root runs the tests.
    args: ['--no-sandbox', '--disable-dev-shm-usage', ...QUIET],
    headless: true,
  });
}

/** A fresh browser profile, without cookies. */
export async function newVisit(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(10_000);
  return { context, page: await context.newPage() };
}

/** A PNG of the page, full height by default, with animations stopped. */
export async function screenshot(page: Page, path: string, { fullPage = true } = {}): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  // The space reserved for a scrollbar would be an empty stripe in the picture.
  await page.evaluate("document.documentElement.style.scrollbarGutter = 'auto'");
  await page.screenshot({ path, fullPage, animations: 'disabled', caret: 'hide' });
}

/** An application's callback on another origin, which waits for the redirect. */
export async function startCallback(): Promise<Callback> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<!doctype html><title>The application</title><h1>Welcome back</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    // Another host name and another port: neither same-origin nor same-site.
    url: `http://localhost:${port}/callback`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Callback = { readonly url: string; readonly stop: () => Promise<void> };
