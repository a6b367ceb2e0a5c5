import assert from 'node:assert/strict';
import { Service, type TestClient, type Visitor } from '../support/service.ts';

export const CALLBACK = 'https://client.example/callback';

/** Requirements of a client library: the service at its announced address, and a signed-in user. */
export type Stage = { readonly service: Service; readonly visitor: Visitor };

export async function openStage(): Promise<Stage> {
  const service = await Service.startWhereItSays();
  return { service, visitor: await service.signedIn() };
}

export const newClient = (service: Service, redirectUri = CALLBACK): Promise<TestClient> =>
  service.createClient({ redirectUris: [redirectUri] });

/** The path of an address that a library built, which must belong to the service. */
export function pathOf(service: Service, address: string | URL): string {
  const url = new URL(address);
  assert.equal(url.origin, service.url);
  return url.pathname + url.search;
}

/** Uses up the application's rate limit for this minute. */
export async function spendLimit(service: Service, client: TestClient): Promise<void> {
  for (let i = 0; i < service.app.config.rateLimit; i++) await service.revoke(client, 'no token');
}

/** The error that a call rejects with. */
export async function errorOf<E extends Error>(
  call: Promise<unknown>,
  kind: new (...given: never[]) => E,
): Promise<E> {
  const error = await call.then(
    () => assert.fail('it should have failed'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof kind, `${error} is no ${kind.name}`);
  return error;
}
