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

  /** Requests per minute; undefined asks for those of a client that has not authenticated. */
  limitOf(_application: Application | undefined): number {
    return this.#limit.max;
  }

  countRequest(clientId: string, address: string, now: number): RequestLimit {
    const id = bounded(clientId);
    const window = this.#perAddress.hit(`${id} ${network(address)}`, now);
    return new RequestLimit(this.#counters, id, this.#limit, window, now);
  }
}

/** Both counters' state at one request; a `RateLimitUse` of the request (src/http/request.ts). */
export class RequestLimit {
  readonly #counters: CounterStore;
  readonly #clientId: string;
  readonly #limit: Limit;
  readonly #startedAt: number;
  readonly #now: number;
  #state: RateLimitState;

  constructor(counters: CounterStore, clientId: string, limit: Limit, window: RateWindow, now: number) {
    this.#counters = counters;
    this.#clientId = clientId;
    this.#limit = limit;
    this.#startedAt = window.startedAt;
    this.#now = now;
    this.#state = rateLimitState(window, limit, now);
  }

  /** A promise only where the counter is shared; in memory it is counted at once. */
  countAuthenticated(): Promise<void> | undefined {
    const window = this.#counters.hit(this.#limit, this.#clientId, this.#now, this.#startedAt);
    if (window instanceof Promise) return window.then((shared) => this.#tighten(shared));
    this.#tighten(window);
    return undefined;
  }

  #tighten(window: RateWindow): void {
    this.#state = tighter(this.#state, rateLimitState(window, this.#limit, this.#now));
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
