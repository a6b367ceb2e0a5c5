import { userAgentOf } from '../accounts/security-log.ts';
import type { Answer, EntryNote, Note } from '../answer.ts';
import type { App } from '../app.ts';
import type { Answered } from '../http-request.ts';
import type { Facts, LogEntry, LoggedEndpoint } from '../store/request-records.ts';
import type { Application, Link } from '../store/store.ts';
import { LogBudget } from './budget.ts';
import { recordIncident } from './incidents.ts';
import { explainSecret } from './refused-secret.ts';
import { UsageCounts } from './usage-counts.ts';

/** Rarely enough that an application's entries of a while share their pages on the disk. */
const FLUSH_EVERY_MS = 1_000;
/** Entries a flush, whatever comes in. */
const MOST_A_FLUSH = 500;
const USAGE_EVERY_MS = 10_000;
const LONGEST_QUEUE = 5_000;
/** Successes leave room for failures, and what nobody has proven to be an application's for what somebody has. */
const MOST_SUCCESSES = LONGEST_QUEUE / 2;
const MOST_UNPROVEN = LONGEST_QUEUE / 5;
/** Applications that have to be looked up a flush, because a request merely claimed to be from them. */
const MOST_LOOKUPS = 50;
/** Kept of each application: of its own entries, and of those that anybody may have sent. */
const KEPT = 2_000;
const KEPT_UNPROVEN = 500;
const TRIM_AFTER = 100;
const SESSION_TAIL = 8;

type Observed = Omit<LogEntry, 'clientId' | 'reason' | 'facts' | 'session' | 'generation'> & {
  readonly clientId: string;
  readonly known: boolean;
  readonly note: Note;
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
  readonly #budget = new LogBudget();
  /** Entries since the last trim, by application. */
  readonly #untrimmed = new Map<string, number>();
  #queue: Observed[] = [];
  #unproven = 0;
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

  /** Takes note of a request that was answered. */
  observe({ request, answer, at, ms }: Answered): void {
    const { note } = answer;
    const endpoint = request.route?.logged;
    const clientId = note?.client ?? note?.entry?.claimed;
    if (!note || endpoint === undefined || clientId === undefined) return;
    const known = note.client !== undefined;
    const proven = known && endpoint !== 'authorize';
    const error = answer.error ?? '';
    if (known) this.#count(clientId, note, error, proven ? this.#used(answer) : 0, at);
    this.#timer ??= setTimeout(() => void this.#tick(), FLUSH_EVERY_MS).unref();
    if (!this.#hasRoom(error === '', proven) || !this.#budget.take(clientId, proven, performance.now())) {
      this.#dropped++;
      return;
    }
    if (!proven) this.#unproven++;
    const userAgent = userAgentOf(request);
    const latencyUs = Math.round(ms * 1000);
    const { id, method, ip: address } = request;
    this.#queue.push({
      clientId,
      known,
      note,
      method,
      id,
      at,
      endpoint,
      proven,
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

  #hasRoom(success: boolean, proven: boolean): boolean {
    if (!proven && this.#unproven >= MOST_UNPROVEN) return false;
    return this.#queue.length < (success ? MOST_SUCCESSES : LONGEST_QUEUE);
  }

  #count(clientId: string, note: Note, error: string, used: number, at: number): void {
    this.#usage.count(clientId, error === '' ? '' : (note.reason ?? error), used, at);
    if (error === '' && note.entry?.link) this.#usage.seeUser(clientId, note.entry.link.userId, at);
  }

  /** Of the rate limit, as the answer's own header says it. */
  #used({ headers }: Answer): number {
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
    const some = this.#queue.splice(0, MOST_A_FLUSH);
    this.#unproven -= some.filter(({ proven }) => !proven).length;
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
    const cuts: (readonly [LogEntry, NonNullable<EntryNote['cut']>])[] = [];
    for (const observed of some) {
      const application = applications.get(observed.clientId);
      if (!application) continue;
      const entry = await this.#entryOf(observed, application);
      if (!observed.known) this.#usage.count(entry.clientId, entry.reason, 0, entry.at);
      entries.push(entry);
      if (observed.note.entry?.cut) cuts.push([entry, observed.note.entry.cut]);
    }
    entries.sort((a, b) => Number(a.clientId > b.clientId) - Number(a.clientId < b.clientId));
    await requestLog.write(entries);
    for (const [entry, cut] of cuts) await recordIncident(this.#app, entry, cut);
    await this.#trim(entries);
  }

  /** Whoever is not an application has no log. */
  async #applicationsOf(some: readonly Observed[]): Promise<Map<string, Application>> {
    const found = new Map<string, Application>();
    let lookups = 0;
    for (const clientId of new Set(some.map((observed) => observed.clientId))) {
      if (lookups >= MOST_LOOKUPS) break;
      const application = this.#app.store.applications.find(clientId);
      if (application instanceof Promise) lookups++;
      const there = await application;
      if (there) found.set(clientId, there);
    }
    return found;
  }

  async #entryOf(observed: Observed, application: Application): Promise<LogEntry> {
    const { note, known: _known, method, ...rest } = observed;
    const { secret, link, facts = {} } = note.entry ?? {};
    const why = secret
      ? await explainSecret(this.#app.store.requestLog, application, secret)
      : { reason: note.reason ?? resultOf(observed.endpoint, method, link), facts };
    // Of a success the link is what was issued: what was presented is the one before it.
    const issued = observed.endpoint === 'token' && observed.error === '' ? 1 : 0;
    return {
      ...rest,
      reason: why.reason,
      facts: printable(why.facts),
      session: link ? link.grantId.slice(-SESSION_TAIL) : null,
      generation: link ? link.generation - issued : null,
    };
  }

  async #trim(entries: readonly LogEntry[]): Promise<void> {
    for (const { clientId, proven } of entries) {
      const key = `${clientId} ${Number(proven)}`;
      const count = (this.#untrimmed.get(key) ?? 0) + 1;
      if (count < TRIM_AFTER) {
        this.#untrimmed.set(key, count);
        continue;
      }
      this.#untrimmed.delete(key);
      await this.#app.store.requestLog.trim(clientId, proven, proven ? KEPT : KEPT_UNPROVEN);
    }
    if (this.#untrimmed.size > LONGEST_QUEUE) this.#untrimmed.clear();
  }
}

/** What a success was. */
function resultOf(endpoint: LoggedEndpoint, method: string, link: Link | undefined): string {
  if (endpoint === 'authorize') return method === 'POST' ? 'code_issued' : 'consent_shown';
  return link?.generation === 1 ? 'code_exchanged' : 'refreshed';
}

/** PostgreSQL keeps no NUL, and nobody wants to read control characters: they become their pictures. */
function printable(facts: Facts): Facts {
  const picture = (character: string) =>
    character < ' ' ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : '\u2426';
  const clean = (text: string) => text.replaceAll(/\p{Cc}/gu, picture);
  return Object.fromEntries(
    Object.entries(facts).map(([name, fact]) => [name, typeof fact === 'string' ? clean(fact) : fact]),
  );
}
