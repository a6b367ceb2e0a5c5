import type { DestinationStream, Logger } from 'pino';
import type { Config } from './config.ts';
import type { Keys } from './keys/keyring.ts';
import type { Mailer } from './mail/mailer.ts';
import type { Observers } from './observability/observers.ts';
import type { PasswordHasher } from './passwords/password-hasher.ts';
import type { Store } from './store/store.ts';

/** What every part of a running Postern works with. Passed, never ambient. */
export type App = Observers & {
  readonly config: Config;
  readonly store: Store;
  readonly keys: Keys;
  readonly passwords: PasswordHasher;
  readonly mailer: Mailer;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Logger;
  /** The stream that `log` writes to. The access log serialises its own lines and writes them here. */
  readonly logDestination: DestinationStream;
};
