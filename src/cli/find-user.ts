import type { Store } from '../store/store.ts';
import type { User } from '../store/users.ts';
import { CommandFailed, printable } from './output.ts';

export async function requireUser(store: Store, email: string): Promise<User> {
  const user = await store.users.findByEmail(email);
  if (user) return user;
  throw unknownUser(email);
}

export const unknownUser = (email: string): CommandFailed =>
  new CommandFailed(
    `There is no user with the email ${printable(email)}. See all with: bin/postern users list`,
  );
