import type { Metrics } from '../observability/metrics.ts';
import { couldBeClientId } from '../protocol/client-id.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import { type Failure, NO_DETAILS, type SuccessReason } from '../protocol/failure-reason.ts';
import type { Application } from '../store/applications.ts';
import type { LogEntry, LoggedEndpoint, LogOutcome } from '../store/request-log.ts';
import { type Diagnostics, type RevokedGrant, reasonOf } from './diagnostics.ts';
import { EntryBudget } from './entry-budget.ts';
import { type IncidentDependencies, recordIncident } from './incidents.ts';
import { printableFailure } from './printable-failure.ts';
import { explainRejectedSecret } from './rejected-secret.ts';
import { UsageCounts } from './usage-counts.ts';

/** Infrequent enough that an application's entries share pages on the disk. */
const FLUSH_INTERVAL_MS = 1_000;
const MAX_PER_FLUSH = 500;
const USAGE_INTERVAL_MS = 10_000;
const MAX_QUEUE_LENGTH = 5_000;
/** Successes leave room for failures, and unauthenticated requests for authenticated ones. */
const MAX_SUCCESSES = MAX_QUEUE_LENGTH / 2;
const MAX_UNAUTHENTICATED = MAX_QUEUE_LENGTH / 5;
/** Applications per flush that must be read from the database, because a request merely claims to be from them. */
const MAX_LOOKUPS = 50;
/** Entries kept per application. */
const MAX_KEPT = 2_000;
const MAX_KEPT_UNAUTHENTICATED = 500;
const TRIM_INTERVAL_ENTRIES = 100;
const GRANT_TAIL_LENGTH = 8;

/** The parts of a completed request that the log looks at. */
type RecordedRequest = {
  readonly request: {
    readonly id: string;
    readonly method: string;
    readonly ip: string;
    readonly userAgent: string;
    readonly rateLimit: { readonly used: number } | undefined;
  };
  readonly response: { readonly error?: ErrorCode; readonly diagnostics?: Diagnostics };
  readonly at: number;
  readonly durationMs: number;
};

type Dependencies = IncidentDependencies & { readonly metrics?: Metrics | undefined };

type PendingEntry = Pick<
  LogEntry,
  'clientId' | 'id' | 'at' | 'endpoint' | 'authenticated' | 'error' | 'address' | 'userAgent' | 'latencyUs'
> & {
  /** False when the request merely claims to be from the client. */
  readonly known: boolean;
  readonly diagnostics: Diagnostics;
  readonly method: string;
};

/**
 * The applications' request logs. A response never waits for it: a request leaves one small object behind, and a
 * timer writes these in batches. The queue is bounded; overflow is dropped and counted (decision 033).
 */
export class RequestLog {
  readonly #dependencies: Dependencies;
  readonly #usage = new UsageCounts();
  readonly #budget = new EntryBudget();
  /** Entries since the last trim, by application. */
  readonly #untrimmed = new Map<string, number>();
  #queue: PendingEntry[] = [];
  #unauthenticated = 0;
  #dropped = 0;
  #usageWrittenAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  record(endpoint: LoggedEndpoint, { request, response, at, durationMs }: RecordedRequest): void {
    const { diagnostics } = response;
    const clientId = diagnostics?.clientId ?? diagnostics?.claimedClientId;
    // A stranger may send 64 KiB as a client_id: it must not become a key of the budget or wait in the queue.
    if (!diagnostics || clientId === undefined || !couldBeClientId(clientId)) return;
    const known = diagnostics.clientId !== undefined;
    const authenticated = known && endpoint !== 'authorize';
    const error = response.error ?? '';
    if (known) this.#count(clientId, diagnostics, error, request.rateLimit?.used ?? 0, at);
    this.#timer ??= setTimeout(() => void this.#tick(), FLUSH_INTERVAL_MS).unref();
    if (
      !this.#hasRoom(error === '', authenticated) ||
      !this.#budget.take(clientId, authenticated, performance.now())
    ) {
      this.#dropped++;
      return;
    }
    if (!authenticated) this.#unauthenticated++;
    const { id, method, ip: address, userAgent } = request;
    const latencyUs = Math.round(durationMs * 1000);
    this.#queue.push({
      clientId,
      known,
      diagnostics,
      method,
      id,
      at,
      endpoint,
      authenticated,
      error,
      address,
      userAgent,
      latencyUs,
    });
  }

  /** Writes everything that is pending. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      while (this.#queue.length > 0) await this.#writeBatch();
      this.#reportDropped();
      await this.#writeUsage();
    });
    return this.#writing;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.flush();
  }

  #hasRoom(success: boolean, authenticated: boolean): boolean {
    if (!authenticated && this.#unauthenticated >= MAX_UNAUTHENTICATED) return false;
    return this.#queue.length < (success ? MAX_SUCCESSES : MAX_QUEUE_LENGTH);
  }

  #count(clientId: string, diagnostics: Diagnostics, error: string, limitUsed: number, at: number): void {
    this.#usage.count(clientId, error === '' ? '' : (reasonOf(diagnostics) ?? error), limitUsed, at);
    if (error === '' && diagnostics.ref) this.#usage.seeUser(clientId, diagnostics.ref.userId, at);
  }

  async #tick(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      await this.#writeBatch();
      this.#reportDropped();
      if (this.#dependencies.now() - this.#usageWrittenAt >= USAGE_INTERVAL_MS) await this.#writeUsage();
    });
    await this.#writing;
    const more = this.#queue.length > 0 || this.#usage.pending;
    this.#timer = more ? setTimeout(() => void this.#tick(), FLUSH_INTERVAL_MS).unref() : undefined;
  }

  async #writeUsage(): Promise<void> {
    this.#usageWrittenAt = this.#dependencies.now();
    // Counts may be lost while the database is unavailable; requests that need it report that.
    if (this.#usage.pending) await this.#usage.write(this.#dependencies.store).catch(() => {});
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#queue.splice(0, MAX_PER_FLUSH);
    this.#unauthenticated -= batch.filter(({ authenticated }) => !authenticated).length;
    try {
      await this.#write(batch);
    } catch {
      this.#dropped += batch.length;
    }
  }

  #reportDropped(): void {
    if (this.#dropped > 0) this.#dependencies.metrics?.logEntriesDropped(this.#dropped);
    this.#dropped = 0;
  }

  async #write(batch: readonly PendingEntry[]): Promise<void> {
    const applications = await this.#applicationsOf(batch);
    const { requestLog } = this.#dependencies.store;
    const entries: LogEntry[] = [];
    const revocations: (readonly [LogEntry, RevokedGrant])[] = [];
    for (const pending of batch) {
      const application = applications.get(pending.clientId);
      if (!application) continue;
      const entry = await this.#entryOf(pending, application);
      if (!pending.known) this.#usage.count(entry.clientId, entry.reason, 0, entry.at);
      entries.push(entry);
      const { revokedGrant } = pending.diagnostics;
      if (revokedGrant) revocations.push([entry, revokedGrant]);
    }
    entries.sort((a, b) => Number(a.clientId > b.clientId) - Number(a.clientId < b.clientId));
    await requestLog.write(entries);
    for (const [entry, revokedGrant] of revocations)
      await recordIncident(this.#dependencies, entry, revokedGrant);
    await this.#trim(entries);
  }

  /** Only registered applications have a log. */
  async #applicationsOf(batch: readonly PendingEntry[]): Promise<Map<string, Application>> {
    const found = new Map<string, Application>();
    let lookups = 0;
    for (const clientId of new Set(batch.map((pending) => pending.clientId))) {
      if (lookups >= MAX_LOOKUPS) break;
      const lookup = this.#dependencies.store.applications.find(clientId);
      if (lookup instanceof Promise) lookups++;
      const application = await lookup;
      if (application) found.set(clientId, application);
    }
    return found;
  }

  async #entryOf(pending: PendingEntry, application: Application): Promise<LogEntry> {
    const { clientId, id, at, endpoint, authenticated, address, userAgent, latencyUs } = pending;
    const { ref } = pending.diagnostics;
    // Of a success `ref` is what was issued: the generation before it was presented.
    const issued = endpoint === 'token' && pending.error === '' ? 1 : 0;
    return {
      clientId,
      id,
      at,
      endpoint,
      authenticated,
      address,
      userAgent,
      latencyUs,
      ...(await this.#outcomeOf(pending, application)),
      grantTail: ref ? ref.grantId.slice(-GRANT_TAIL_LENGTH) : null,
      generation: ref ? ref.generation - issued : null,
    };
  }

  async #outcomeOf(
    { diagnostics, endpoint, error, at, method }: PendingEntry,
    application: Application,
  ): Promise<LogOutcome> {
    const { failure = SERVER_ERROR, success, rejectedSecret, ref } = diagnostics;
    if (error === '')
      return { error, reason: success ?? successReason(endpoint, method, ref), details: NO_DETAILS };
    const { retiredSecrets } = this.#dependencies.store;
    const why = rejectedSecret
      ? await explainRejectedSecret(retiredSecrets, application, rejectedSecret, at)
      : failure;
    return { error, ...printableFailure(why) };
  }

  async #trim(entries: readonly LogEntry[]): Promise<void> {
    for (const { clientId, authenticated } of entries) {
      const key = `${clientId} ${Number(authenticated)}`;
      const count = (this.#untrimmed.get(key) ?? 0) + 1;
      if (count < TRIM_INTERVAL_ENTRIES) {
        this.#untrimmed.set(key, count);
        continue;
      }
      this.#untrimmed.delete(key);
      const keep = authenticated ? MAX_KEPT : MAX_KEPT_UNAUTHENTICATED;
      await this.#dependencies.store.requestLog.trim(clientId, authenticated, keep);
    }
    if (this.#untrimmed.size > MAX_QUEUE_LENGTH) this.#untrimmed.clear();
  }
}

const SERVER_ERROR: Failure = { reason: 'server_error', details: NO_DETAILS };

function successReason(endpoint: LoggedEndpoint, method: string, ref: GrantRef | undefined): SuccessReason {
  if (endpoint === 'authorize') return method === 'POST' ? 'code_issued' : 'consent_shown';
  return ref?.generation === 1 ? 'code_exchanged' : 'refreshed';
}
