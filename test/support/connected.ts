import type { Service, TestClient, Tokens, Visitor } from './service.ts';

const visitors = new WeakMap<Service, Visitor>();

/** A signed-in user, the same one for all tests that do not care: signing in is slow on purpose. */
export async function somebody(service: Service): Promise<Visitor> {
  const visitor = visitors.get(service) ?? (await service.visitor());
  visitors.set(service, visitor);
  await visitor.staySignedIn();
  return visitor;
}

export type Connected = { client: TestClient; visitor: Visitor; tokens: Tokens };

/** A new application, and tokens of a user who allowed it. */
export async function connect(service: Service, parameters: Record<string, string> = {}): Promise<Connected> {
  const client = await service.createClient();
  const visitor = await somebody(service);
  return { client, visitor, tokens: await service.tokens(client, visitor, parameters) };
}
