import type { LogEntry } from '../store/request-log.ts';
import type { Diagnostics } from './diagnostics.ts';

/** A request that waits to be written to its application's log. */
export type PendingEntry = Pick<
  LogEntry,
  'clientId' | 'id' | 'at' | 'endpoint' | 'authenticated' | 'error' | 'address' | 'userAgent' | 'latencyUs'
> & {
  readonly origin: Origin;
  readonly diagnostics: Diagnostics;
  readonly method: string;
};

/**
 * Origin of a request: `application` authenticated; `registered` names an application that is known to exist;
 * `unknown` names one that nobody has looked up, which anybody can invent.
 */
export type Origin = 'application' | 'registered' | 'unknown';

/** An application's successes leave room for its failures. */
const MAX_SUCCESSES = 2_500;
const MAX_WAITING: Readonly<Record<Origin, number>> = { application: 5_000, registered: 1_000, unknown: 500 };
/** Entries that revoked a grant are added whatever else waits. Rate limits keep them far below this. */
const MAX_REVOCATIONS = 1_000;
/** Part of a batch that is kept for `registered`, however many authenticated requests wait. */
const REGISTERED_SHARE = 0.2;

/** Entries by origin, so that invented client_ids crowd out nothing and nobody crowds out an application's own. */
export class EntryQueue {
  readonly #waiting: Readonly<Record<Origin, PendingEntry[]>> = {
    application: [],
    registered: [],
    unknown: [],
  };

  get length(): number {
    const { application, registered, unknown } = this.#waiting;
    return application.length + registered.length + unknown.length;
  }

  hasRoom(origin: Origin, success: boolean): boolean {
    const { length } = this.#waiting[origin];
    return length < MAX_WAITING[origin] && !(success && length >= MAX_SUCCESSES);
  }

  /** False when not even an entry that revoked a grant fits. Other entries ask `hasRoom` first. */
  add(entry: PendingEntry): boolean {
    const waiting = this.#waiting[entry.origin];
    if (waiting.length >= MAX_WAITING[entry.origin] + MAX_REVOCATIONS) return false;
    waiting.push(entry);
    return true;
  }

  /** The next entries to write: authenticated ones first, those with unknown client_ids if there is room left. */
  take(max: number): PendingEntry[] {
    const { application, registered, unknown } = this.#waiting;
    const reserved = Math.min(registered.length, Math.floor(max * REGISTERED_SHARE));
    const batch = application.splice(0, max - reserved);
    batch.push(...registered.splice(0, max - batch.length));
    batch.push(...unknown.splice(0, max - batch.length));
    return batch;
  }
}
