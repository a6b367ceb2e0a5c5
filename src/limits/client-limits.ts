import { hash } from 'node:crypto';
import { network } from '../protocol/address.ts';
import {
  type Limit,
  type RateLimitState,
  type RateWindow,
  RateWindows,
  rateLimitState,
  tighter,
} from '../protocol/rate-window.ts';
import type { Application } from '../store/applications.ts';
import type { CounterStore } from '../store/counters.ts';

const WINDOW_MS = 60_000;
/** Longer than any client_id that was issued. */
const MAX_CLIENT_ID_LENGTH = 64;

/**
 * The limit of the token and revocation endpoints (protocol 8.1). A client_id is public, so counting by it alone
 * would let a stranger spend an application's budget. Hence two counters: per client_id and address for every
 * request, in this process's memory; and per client_id for authenticated requests, shared by all nodes. Seen from
 * one address they are one, because the second window opens where the first one did (decision 005).
 */
export class ClientLimits {
  readonly #counters: CounterStore;
  readonly #limit: Limit;
  readonly #perAddress: RateWindows;

  constructor(counters: CounterStore, requestsPerMinute: number) {
    this.#counters = counters;
    this.#limit = { name: 'client', windowMs: WINDOW_MS, max: requestsPerMinute };
    this.#perAddress = new RateWindows(this.#limit);
  }

  /** Requests per minute. Every limit that is enforced, sent in a header or shown on a page comes from here. */
  limitOf(_application: Application | undefined): number {
    return this.#limit.max;
  }

  /** `application`: the one with this client_id, if it is in memory. A stranger's request must not cost a read. */
  countRequest(
    clientId: string,
    application: Application | undefined,
    address: string,
    now: number,
  ): RequestLimit {
    const id = bounded(clientId);
    const window = this.#perAddress.hit(`${id} ${network(address)}`, now);
    return new RequestLimit(this.#counters, id, window, this.#limitFor(application), now);
  }

  /** A promise only where the counter is shared; in memory it is counted at once. */
  countAuthenticated(request: RequestLimit, application: Application): Promise<void> | undefined {
    return request.countAuthenticated(this.#limitFor(application));
  }

  #limitFor(application: Application | undefined): Limit {
    const max = this.limitOf(application);
    return max === this.#limit.max ? this.#limit : { ...this.#limit, max };
  }
}

/** Both counters' state at one request; a `RateLimitUse` of the request (src/http/request.ts). */
export class RequestLimit {
  readonly #counters: CounterStore;
  readonly #clientId: string;
  readonly #addressWindow: RateWindow;
  readonly #now: number;
  #limit: Limit;
  #state: RateLimitState;

  constructor(counters: CounterStore, clientId: string, window: RateWindow, limit: Limit, now: number) {
    this.#counters = counters;
    this.#clientId = clientId;
    // A copy: the window goes on counting while this request waits.
    this.#addressWindow = { startedAt: window.startedAt, count: window.count };
    this.#limit = limit;
    this.#now = now;
    this.#state = rateLimitState(window, limit, now);
  }

  countAuthenticated(limit: Limit): Promise<void> | undefined {
    this.#limit = limit;
    const window = this.#counters.hit(limit, this.#clientId, this.#now, this.#addressWindow.startedAt);
    if (window instanceof Promise) return window.then((shared) => this.#tighten(shared));
    this.#tighten(window);
    return undefined;
  }

  #tighten(window: RateWindow): void {
    const perAddress = rateLimitState(this.#addressWindow, this.#limit, this.#now);
    this.#state = tighter(perAddress, rateLimitState(window, this.#limit, this.#now));
  }

  get exceeded(): boolean {
    return this.#state.exceeded;
  }

  get used(): number {
    return this.#limit.max - this.#state.remaining;
  }

  headers(): Record<string, string> {
    return {
      'ratelimit-limit': String(this.#limit.max),
      'ratelimit-remaining': String(this.#state.remaining),
      'ratelimit-reset': String(this.#state.resetSeconds),
    };
  }

  retryAfter(): Record<string, string> {
    return { 'retry-after': String(this.#state.resetSeconds) };
  }
}

/** Anybody may send any client_id: a long one must not fill the memory. */
const bounded = (clientId: string): string =>
  clientId.length <= MAX_CLIENT_ID_LENGTH ? clientId : hash('sha256', clientId, 'base64url');
