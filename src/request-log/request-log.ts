import { setTimeout as delay } from 'node:timers/promises';
import type { Metrics } from '../observability/metrics.ts';
import { couldBeClientId } from '../protocol/client-id.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import { type Failure, NO_DETAILS, type SuccessReason } from '../protocol/failure-reason.ts';
import type { Application } from '../store/applications.ts';
import type { LogEntry, LoggedEndpoint, LogOutcome } from '../store/request-log.ts';
import { type Diagnostics, type RevokedGrant, reasonOf } from './diagnostics.ts';
import { EntryBudget } from './entry-budget.ts';
import { EntryQueue, type Origin, type PendingEntry } from './entry-queue.ts';
import { type IncidentDependencies, recordIncident } from './incidents.ts';
import { printableFailure } from './printable-failure.ts';
import { explainRejectedSecret } from './rejected-secret.ts';
import { UsageCounts } from './usage-counts.ts';

/** Infrequent enough that an application's entries share pages on the disk. */
const FLUSH_INTERVAL_MS = 1_000;
const MAX_PER_FLUSH = 500;
const USAGE_INTERVAL_MS = 10_000;
/** Pages that show the log cause it to be written at most this often, however many readers there are. */
const MIN_READ_INTERVAL_MS = 100;
/** Incidents that could not be written are tried again with every flush. */
const MAX_RETRIES_KEPT = 1_000;
const MAX_UNTRIMMED = 5_000;
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

/**
 * The applications' request logs. A response never waits for it: a request leaves one small object behind, and a
 * timer writes these in batches. The queue is bounded; overflow is dropped and counted (decision 033). Requests that
 * revoked a grant are incidents: they pass every bound and are tried again until they are written. So are requests whose
 * outcome is unknown, which explain incidents that follow.
 */
export class RequestLog {
  readonly #dependencies: Dependencies;
  readonly #usage = new UsageCounts();
  readonly #budget = new EntryBudget();
  /** Entries since the last trim, by application. */
  readonly #untrimmed = new Map<string, number>();
  readonly #queue = new EntryQueue();
  #retries: PendingEntry[] = [];
  #nextRead: Promise<void> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
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
    const origin = this.#originOf(endpoint, diagnostics, clientId);
    const error = response.error ?? '';
    if (diagnostics.clientId !== undefined)
      this.#count(clientId, diagnostics, error, request.rateLimit?.used ?? 0, at);
    this.#timer ??= setTimeout(() => void this.#tick(), FLUSH_INTERVAL_MS).unref();
    if (!mustBeWritten({ diagnostics }) && !this.#admits(clientId, origin, error === '')) {
      this.#dropped++;
      return;
    }
    const { id, method, ip: address, userAgent } = request;
    const added = this.#queue.add({
      clientId,
      origin,
      diagnostics,
      method,
      id,
      at,
      endpoint,
      authenticated: origin === 'application',
      error,
      address,
      userAgent,
      latencyUs: Math.round(durationMs * 1000),
    });
    if (!added) this.#dropped++;
  }

  #originOf(endpoint: LoggedEndpoint, { clientId }: Diagnostics, named: string): Origin {
    if (clientId !== undefined) return endpoint === 'authorize' ? 'registered' : 'application';
    return this.#dependencies.store.applications.findCached(named) ? 'registered' : 'unknown';
  }

  #admits(clientId: string, origin: Origin, success: boolean): boolean {
    if (!this.#queue.hasRoom(origin, success)) return false;
    // An invented client_id must not become a key: its budget is asked once the application was found.
    return origin === 'unknown' || this.#budget.take(clientId, origin === 'application', performance.now());
  }

  /** Writes everything that was pending when it was called. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      await this.#retry();
      for (let left = this.#queue.length; left > 0; left -= MAX_PER_FLUSH) await this.#writeBatch();
      this.#reportDropped();
      await this.#writeUsage();
    });
    return this.#writing;
  }

  /** Flushes for a page that shows the log. Readers who come while one waits share its flush. */
  flushForReader(): Promise<void> {
    this.#nextRead ??= this.#flushInTurn();
    return this.#nextRead;
  }

  async #flushInTurn(): Promise<void> {
    await delay(Math.max(0, this.#readAt + MIN_READ_INTERVAL_MS - performance.now()));
    this.#nextRead = undefined;
    this.#readAt = performance.now();
    await this.flush();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.flush();
  }

  #count(clientId: string, diagnostics: Diagnostics, error: string, limitUsed: number, at: number): void {
    this.#usage.count(clientId, error === '' ? '' : (reasonOf(diagnostics) ?? error), limitUsed, at);
    if (error === '' && diagnostics.ref) this.#usage.seeUser(clientId, diagnostics.ref.userId, at);
  }

  async #tick(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      await this.#retry();
      await this.#writeBatch();
      this.#reportDropped();
      if (this.#dependencies.now() - this.#usageWrittenAt >= USAGE_INTERVAL_MS) await this.#writeUsage();
    });
    await this.#writing;
    const more = this.#queue.length + this.#retries.length > 0 || this.#usage.pending;
    this.#timer = more ? setTimeout(() => void this.#tick(), FLUSH_INTERVAL_MS).unref() : undefined;
  }

  async #writeUsage(): Promise<void> {
    this.#usageWrittenAt = this.#dependencies.now();
    // Counts may be lost while the database is unavailable; requests that need it report that.
    if (this.#usage.pending) await this.#usage.write(this.#dependencies.store).catch(() => {});
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#queue.take(MAX_PER_FLUSH);
    try {
      await this.#write(batch);
    } catch {
      const kept = batch.filter(mustBeWritten);
      this.#keepForRetry(kept);
      this.#dropped += batch.length - kept.length;
    }
  }

  /** Each on its own: one that always fails must not hold up others. Writing an incident twice records it once. */
  async #retry(): Promise<void> {
    const retries = this.#retries;
    this.#retries = [];
    for (const [index, entry] of retries.entries()) {
      try {
        await this.#write([entry]);
      } catch {
        // Most likely the database is unavailable: the next flush goes on with the ones behind it.
        this.#keepForRetry([...retries.slice(index + 1), entry]);
        return;
      }
    }
  }

  #keepForRetry(entries: readonly PendingEntry[]): void {
    this.#retries.push(...entries);
    this.#dropped += this.#retries.splice(MAX_RETRIES_KEPT).length;
  }

  #reportDropped(): void {
    if (this.#dropped > 0) this.#dependencies.metrics?.logEntriesDropped(this.#dropped);
    this.#dropped = 0;
  }

  async #write(batch: readonly PendingEntry[]): Promise<void> {
    const { requestLog, applications } = this.#dependencies.store;
    // Only registered applications have a log.
    const claimed = batch.filter(({ diagnostics }) => diagnostics.clientId === undefined);
    const found = await applications.findAll(claimed.map(({ clientId }) => clientId));
    const entries: LogEntry[] = [];
    const revocations: (readonly [LogEntry, RevokedGrant])[] = [];
    for (const pending of batch) {
      const application = found.get(pending.clientId);
      if (pending.diagnostics.clientId === undefined && !this.#hasLog(pending, application)) continue;
      const entry = await this.#entryOf(pending, application);
      if (pending.diagnostics.clientId === undefined)
        this.#usage.count(entry.clientId, entry.reason, 0, entry.at);
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

  #hasLog({ clientId, origin }: PendingEntry, application: Application | undefined): boolean {
    if (!application) return false;
    if (origin !== 'unknown' || this.#budget.take(clientId, false, performance.now())) return true;
    this.#dropped++;
    return false;
  }

  async #entryOf(pending: PendingEntry, application: Application | undefined): Promise<LogEntry> {
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
    application: Application | undefined,
  ): Promise<LogOutcome> {
    const { failure = SERVER_ERROR, success, rejectedSecret, ref } = diagnostics;
    if (error === '')
      return { error, reason: success ?? successReason(endpoint, method, ref), details: NO_DETAILS };
    const { retiredSecrets } = this.#dependencies.store;
    const why =
      rejectedSecret && application
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
    if (this.#untrimmed.size > MAX_UNTRIMMED) this.#untrimmed.clear();
  }
}

const mustBeWritten = ({ diagnostics }: Pick<PendingEntry, 'diagnostics'>): boolean =>
  diagnostics.revokedGrant !== undefined ||
  (diagnostics.failure?.reason === 'outcome_unknown' && diagnostics.ref !== undefined);

const SERVER_ERROR: Failure = { reason: 'server_error', details: NO_DETAILS };

function successReason(endpoint: LoggedEndpoint, method: string, ref: GrantRef | undefined): SuccessReason {
  if (endpoint === 'authorize') return method === 'POST' ? 'code_issued' : 'consent_shown';
  return ref?.generation === 1 ? 'code_exchanged' : 'refreshed';
}
