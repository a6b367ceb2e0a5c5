import type { Service, TestClient, Tokens, Visitor } from './service.ts';

const visitors = new WeakMap<Service, Visitor>();

/** Somebody who is signed in, the same for all tests that do not mind who: signing in is slow on purpose. */
export async function somebody(service: Service): Promise<Visitor> {
  const known = visitors.get(service);
  // A test may have moved the clock past the end of the session.
  if (known && (await known.get('/login')).status === 303) return known;
  const visitor = await service.signedIn();
  visitors.set(service, visitor);
  return visitor;
}

export type Connected = { client: TestClient; visitor: Visitor; tokens: Tokens };

/** An application of the test's own, and tokens that somebody allowed it to have. */
export async function connect(service: Service, parameters: Record<string, string> = {}): Promise<Connected> {
  const client = await service.createClient();
  const visitor = await somebody(service);
  return { client, visitor, tokens: await service.tokens(client, visitor, parameters) };
}
