import type { Application } from '../store/applications.ts';
import type { Store } from '../store/store.ts';
import { CommandFailed, printable } from './output.ts';

export async function requireApplication(store: Store, clientId: string): Promise<Application> {
  const application = await store.applications.find(clientId);
  if (application) return application;
  throw unknownApplication(clientId);
}

export const unknownApplication = (clientId: string): CommandFailed =>
  new CommandFailed(`There is no application ${printable(clientId)}. See all with: bin/postern apps list`);

/** Undefined when the owner's account was deleted. */
export const ownerEmail = async (store: Store, { ownerId }: Application): Promise<string | undefined> =>
  (await store.users.find(ownerId))?.email;
