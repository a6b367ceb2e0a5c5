import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { newClientSecret } from '../../src/protocol/client-secret.ts';
import {
  authorizePath,
  DAY,
  HOUR,
  MINUTE,
  newVerifier,
  Service,
  type TestClient,
} from '../support/service.ts';
import { launchBrowser, NO_BROWSER, newVisit, SCHEMES, type Scheme, screenshot } from './browser.ts';

/** Writes docs/screenshots/: the main pages in both colour schemes. Run by `npm run screenshots`. */
const FOLDER = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));
const VIEWPORT = { width: 1000, height: 780 };

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1';

if (NO_BROWSER) throw new Error(NO_BROWSER);
const service = await Service.start();
const browser = await launchBrowser();
try {
  const scene = await setScene(service);
  for (const scheme of SCHEMES) {
    await takeAll(service, browser, scene, scheme);
    await takeDashboard(service, browser, scene, scheme);
  }
} finally {
  await browser.close();
  await service.stop();
}

type Person = { readonly email: string; readonly password: string };
type Scene = Person & { readonly client: TestClient; readonly developer: Person };

/** A user with a history: two connected applications and a phone. */
async function setScene(service: Service): Promise<Scene> {
  const { clock, app } = service;
  const owner = await service.createUser('grace@photos.example', 'Grace Hopper');
  const ada = await service.createUser('ada@example.com', 'Ada Lovelace');
  const profile = { name: 'Ada Lovelace', preferredUsername: 'ada', picture: null, locale: 'en-GB' };
  await app.store.users.changeProfile(ada.id, profile, clock.ms);
  const named = (name: string, host: string, optionalScope: string) =>
    service.createClient({
      name,
      ownerId: owner.id,
      redirectUris: [`https://${host}/callback`],
      optionalScope,
    });
  const photos = await named('Photo Wall', 'photos.example', 'email');
  const calendar = await named('Calendar Sync', 'calendar.example', '');
  const visitor = await service.visitor(ada, FIREFOX);
  await visitor.signIn();
  clock.advance(3 * DAY);
  await service.tokens(calendar, visitor);
  clock.advance(DAY);
  await service.tokens(photos, visitor, { scope: 'profile' });
  clock.advance(5 * HOUR);
  const phone = await service.visitor(ada, PHONE);
  await phone.signIn();
  clock.advance(20 * MINUTE);
  await rotateSecret(service, photos, owner.id);
  return { email: ada.email, password: ada.password, client: photos, developer: owner };
}

/** A developer who is rotating a secret. */
async function rotateSecret(service: Service, client: TestClient, ownerId: string): Promise<void> {
  const { clock, app } = service;
  const secret = newClientSecret();
  const applications = app.store.ownedApplications(ownerId);
  await applications.addSecret(client.clientId, { id: 'second', secret, now: clock.ms });
  clock.advance(26 * HOUR);
  await service.revoke({ ...client, clientSecret: secret }, 'unknown');
  clock.advance(5 * MINUTE);
}

async function takeAll(service: Service, browser: Browser, scene: Scene, scheme: Scheme): Promise<void> {
  const { context, page } = await newVisit(browser, {
    viewport: VIEWPORT,
    colorScheme: scheme,
    userAgent: FIREFOX,
    deviceScaleFactor: 1,
  });
  const take = (name: string) => screenshot(page, `${FOLDER}${name}-${scheme}.png`, { fullPage: false });
  const open = (path: string) => page.goto(service.url + path);
  await open('/login');
  await take('login');
  await open('/signup');
  await take('signup');
  await signIn(page, service, scene);
  await open(authorizePath(scene.client, newVerifier()));
  await take('consent');
  await open('/account');
  await take('account');
  await open('/account/connections');
  await take('connections');
  await context.close();
}

async function takeDashboard(
  service: Service,
  browser: Browser,
  { developer, client }: Scene,
  colorScheme: Scheme,
): Promise<void> {
  const { context, page } = await newVisit(browser, {
    viewport: VIEWPORT,
    colorScheme,
    deviceScaleFactor: 1,
  });
  await signIn(page, service, developer);
  for (const [name, path] of [
    ['dashboard', '/dashboard'],
    ['new-application', '/dashboard/apps/new'],
    ['application', `/dashboard/apps/${client.clientId}`],
  ] as const) {
    await page.goto(service.url + path);
    await screenshot(page, `${FOLDER}${name}-${colorScheme}.png`, { fullPage: false });
  }
  await context.close();
}

async function signIn(page: Page, service: Service, { email, password }: Person): Promise<void> {
  await page.goto(`${service.url}/login`);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/account');
}
