import type { DestinationStream, Logger } from 'pino';
import type { Config } from './config.ts';
import type { Keys } from './keys/keyring.ts';
import { ClientLimits } from './limits/client-limits.ts';
import { Mailer } from './mail/mailer.ts';
import { ClockGuard } from './observability/clock-guard.ts';
import type { Observers } from './observability/observers.ts';
import { ServiceHealth } from './observability/service-health.ts';
import { PasswordHasher } from './passwords/password-hasher.ts';
import { RequestLog } from './request-log/request-log.ts';
import type { Store } from './store/store.ts';

/** Resources that a running Postern is made of. */
type AppParts = Observers & {
  readonly config: Config;
  readonly store: Store;
  readonly keys: Keys;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Logger;
  /** The stream that `log` writes to. The access log serialises its own lines and writes them here. */
  readonly logDestination: DestinationStream;
};

/** Everything that handlers work with. Passed, never ambient: a test can run ten of them, each at its own time. */
export type App = AppParts & {
  readonly passwords: PasswordHasher;
  readonly mailer: Mailer;
  readonly clientLimits: ClientLimits;
  readonly requestLog: RequestLog;
  readonly clock: ClockGuard;
  readonly health: ServiceHealth;
};

export function createApp(parts: AppParts): App {
  const { config, store, now, log, metrics } = parts;
  const mailer = new Mailer(config, log);
  const clock = new ClockGuard({ reference: store.clock, now, log, metrics });
  return {
    ...parts,
    passwords: new PasswordHasher(),
    mailer,
    clientLimits: new ClientLimits(store.counters, config.rateLimit),
    requestLog: new RequestLog({ store, mailer, baseUrl: config.baseUrl, now, metrics }),
    clock,
    health: new ServiceHealth({ store, clock, log }),
  };
}
