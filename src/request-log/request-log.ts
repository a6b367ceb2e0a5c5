import type { App } from '../app.ts';
import type { CompletedRequest } from '../http/request.ts';
import type { Diagnostics, HttpResponse, LogEntryDiagnostics } from '../http/response.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import type { Application } from '../store/applications.ts';
import type { LogDetails, LogEntry, LoggedEndpoint } from '../store/request-log.ts';
import { EntryBudget } from './entry-budget.ts';
import { recordIncident } from './incidents.ts';
import { explainSecret } from './rejected-secret.ts';
import { UsageCounts } from './usage-counts.ts';

/** Rarely enough that an application's entries of a while share their pages on the disk. */
const FLUSH_EVERY_MS = 1_000;
/** Entries a flush, whatever comes in. */
const MAX_PER_FLUSH = 500;
const USAGE_EVERY_MS = 10_000;
const MAX_QUEUE_LENGTH = 5_000;
/** Successes leave room for failures, and what nobody has authenticated to be an application's for what somebody has. */
const MAX_SUCCESSES = MAX_QUEUE_LENGTH / 2;
const MAX_UNAUTHENTICATED = MAX_QUEUE_LENGTH / 5;
/** Applications that have to be looked up a flush, because a request merely claimed to be from them. */
const MAX_LOOKUPS = 50;
/** Kept of each application: of its own entries, and of those that anybody may have sent. */
const KEPT = 2_000;
const KEPT_UNAUTHENTICATED = 500;
const TRIM_AFTER = 100;
const SESSION_TAIL = 8;

type Observed = Omit<LogEntry, 'clientId' | 'reason' | 'details' | 'grantTail' | 'generation'> & {
  readonly clientId: string;
  readonly known: boolean;
  readonly diagnostics: Diagnostics;
  readonly method: string;
};

/**
 * Writes down what was asked in applications' names. An answer never waits for it: a request leaves one
 * small object behind after it was answered, and a timer writes them in batches. The queue is bounded;
 * what does not fit is dropped and counted.
 */
export class RequestLog {
  static readonly #perApp = new WeakMap<App, RequestLog>();
  readonly #app: App;
  readonly #usage = new UsageCounts();
  readonly #budget = new EntryBudget();
  /** Entries since the last trim, by application. */
  readonly #untrimmed = new Map<string, number>();
  #queue: Observed[] = [];
  #unauthenticated = 0;
  #dropped = 0;
  #usageWrittenAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(app: App) {
    this.#app = app;
  }

  static of(app: App): RequestLog {
    let log = RequestLog.#perApp.get(app);
    if (!log) {
      log = new RequestLog(app);
      RequestLog.#perApp.set(app, log);
    }
    return log;
  }

  /** Takes diagnostics of a request that was answered. */
  record({ request, response, at, durationMs }: CompletedRequest): void {
    const { diagnostics } = response;
    const endpoint = request.route?.logged;
    const clientId = diagnostics?.clientId ?? diagnostics?.logEntry?.claimedClientId;
    if (!diagnostics || endpoint === undefined || clientId === undefined) return;
    const known = diagnostics.clientId !== undefined;
    const authenticated = known && endpoint !== 'authorize';
    const error = response.error ?? '';
    if (known) this.#count(clientId, diagnostics, error, authenticated ? this.#used(response) : 0, at);
    this.#timer ??= setTimeout(() => void this.#tick(), FLUSH_EVERY_MS).unref();
    if (
      !this.#hasRoom(error === '', authenticated) ||
      !this.#budget.take(clientId, authenticated, performance.now())
    ) {
      this.#dropped++;
      return;
    }
    if (!authenticated) this.#unauthenticated++;
    const userAgent = request.userAgent;
    const latencyUs = Math.round(durationMs * 1000);
    const { id, method, ip: address } = request;
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

  /** Writes all that waits. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      while (this.#queue.length > 0) await this.#writeSome();
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

  #count(clientId: string, diagnostics: Diagnostics, error: string, used: number, at: number): void {
    this.#usage.count(clientId, error === '' ? '' : (diagnostics.reason ?? error), used, at);
    if (error === '' && diagnostics.logEntry?.ref)
      this.#usage.seeUser(clientId, diagnostics.logEntry.ref.userId, at);
  }

  /** Of the rate limit, as the answer's own header says it. */
  #used({ headers }: HttpResponse): number {
    const remaining = headers['ratelimit-remaining'];
    return remaining === undefined ? 0 : this.#app.config.rateLimit - Number(remaining);
  }

  async #tick(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      await this.#writeSome();
      this.#reportDropped();
      if (this.#app.now() - this.#usageWrittenAt >= USAGE_EVERY_MS) await this.#writeUsage();
    });
    await this.#writing;
    const more = this.#queue.length > 0 || this.#usage.pending;
    this.#timer = more ? setTimeout(() => void this.#tick(), FLUSH_EVERY_MS).unref() : undefined;
  }

  async #writeUsage(): Promise<void> {
    this.#usageWrittenAt = this.#app.now();
    // Counts may be lost while the database is away; the requests that need it report that.
    if (this.#usage.pending) await this.#usage.write(this.#app).catch(() => {});
  }

  async #writeSome(): Promise<void> {
    const some = this.#queue.splice(0, MAX_PER_FLUSH);
    this.#unauthenticated -= some.filter(({ authenticated }) => !authenticated).length;
    try {
      await this.#write(some);
    } catch {
      this.#dropped += some.length;
    }
  }

  #reportDropped(): void {
    if (this.#dropped > 0) this.#app.metrics?.logEntriesDropped(this.#dropped);
    this.#dropped = 0;
  }

  async #write(some: readonly Observed[]): Promise<void> {
    const applications = await this.#applicationsOf(some);
    const { requestLog } = this.#app.store;
    const entries: LogEntry[] = [];
    const revocations: (readonly [LogEntry, NonNullable<LogEntryDiagnostics['revokedGrant']>])[] = [];
    for (const observed of some) {
      const application = applications.get(observed.clientId);
      if (!application) continue;
      const entry = await this.#entryOf(observed, application);
      if (!observed.known) this.#usage.count(entry.clientId, entry.reason, 0, entry.at);
      entries.push(entry);
      if (observed.diagnostics.logEntry?.revokedGrant)
        revocations.push([entry, observed.diagnostics.logEntry.revokedGrant]);
    }
    entries.sort((a, b) => Number(a.clientId > b.clientId) - Number(a.clientId < b.clientId));
    await requestLog.write(entries);
    for (const [entry, revokedGrant] of revocations) await recordIncident(this.#app, entry, revokedGrant);
    await this.#trim(entries);
  }

  /** Whoever is not an application has no log. */
  async #applicationsOf(some: readonly Observed[]): Promise<Map<string, Application>> {
    const found = new Map<string, Application>();
    let lookups = 0;
    for (const clientId of new Set(some.map((observed) => observed.clientId))) {
      if (lookups >= MAX_LOOKUPS) break;
      const application = this.#app.store.applications.find(clientId);
      if (application instanceof Promise) lookups++;
      const there = await application;
      if (there) found.set(clientId, there);
    }
    return found;
  }

  async #entryOf(observed: Observed, application: Application): Promise<LogEntry> {
    const { diagnostics, known: _known, method, ...rest } = observed;
    const { rejectedSecret, ref, details = {} } = diagnostics.logEntry ?? {};
    const why = rejectedSecret
      ? await explainSecret(this.#app.store.retiredSecrets, application, rejectedSecret)
      : { reason: diagnostics.reason ?? resultOf(observed.endpoint, method, ref), details };
    // Of a success the ref is what was issued: what was presented is the one before it.
    const issued = observed.endpoint === 'token' && observed.error === '' ? 1 : 0;
    return {
      ...rest,
      reason: why.reason,
      details: printable(why.details),
      grantTail: ref ? ref.grantId.slice(-SESSION_TAIL) : null,
      generation: ref ? ref.generation - issued : null,
    };
  }

  async #trim(entries: readonly LogEntry[]): Promise<void> {
    for (const { clientId, authenticated } of entries) {
      const key = `${clientId} ${Number(authenticated)}`;
      const count = (this.#untrimmed.get(key) ?? 0) + 1;
      if (count < TRIM_AFTER) {
        this.#untrimmed.set(key, count);
        continue;
      }
      this.#untrimmed.delete(key);
      await this.#app.store.requestLog.trim(
        clientId,
        authenticated,
        authenticated ? KEPT : KEPT_UNAUTHENTICATED,
      );
    }
    if (this.#untrimmed.size > MAX_QUEUE_LENGTH) this.#untrimmed.clear();
  }
}

/** What a success was. */
function resultOf(endpoint: LoggedEndpoint, method: string, ref: GrantRef | undefined): string {
  if (endpoint === 'authorize') return method === 'POST' ? 'code_issued' : 'consent_shown';
  return ref?.generation === 1 ? 'code_exchanged' : 'refreshed';
}

/** PostgreSQL keeps no NUL, and nobody wants to read control characters: they become their pictures. */
function printable(details: LogDetails): LogDetails {
  const picture = (character: string) =>
    character < ' ' ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : '\u2426';
  const clean = (text: string) => text.replaceAll(/\p{Cc}/gu, picture);
  return Object.fromEntries(
    Object.entries(details).map(([name, fact]) => [name, typeof fact === 'string' ? clean(fact) : fact]),
  );
}
