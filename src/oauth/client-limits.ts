import { hash } from 'node:crypto';
import type { App } from '../app.ts';
import { network } from '../protocol/address.ts';
import {
  type RateLimitState,
  type RateWindow,
  RateWindows,
  rateLimitState,
  tighter,
} from '../protocol/rate-window.ts';

const WINDOW_MS = 60_000;

/**
 * The limit of the token and revocation endpoints. A client_id is public, so counting by
 * it alone would let a stranger spend an application's budget. Hence two counters: one per
 * client_id and address for every request, in this process's memory, and one per client_id
 * for requests that proved to be the client's, shared by all nodes. From one address the two
 * are one: the second window opens where the first one did.
 */
export class ClientLimits {
  static readonly #perApp = new WeakMap<App, ClientLimits>();
  readonly #app: App;
  readonly #perAddress = new RateWindows(WINDOW_MS);

  constructor(app: App) {
    this.#app = app;
  }

  /** One for all endpoints of an App: they share their counters. */
  static of(app: App): ClientLimits {
    let limits = ClientLimits.#perApp.get(app);
    if (!limits) {
      limits = new ClientLimits(app);
      ClientLimits.#perApp.set(app, limits);
    }
    return limits;
  }

  countRequest(clientId: string, address: string, now: number): RequestLimit {
    const id = bounded(clientId);
    return new RequestLimit(this.#app, id, this.#perAddress.hit(`${id} ${network(address)}`, now), now);
  }
}

/** What the limits say of one request. */
export class RequestLimit {
  readonly #app: App;
  readonly #clientId: string;
  readonly #startedAt: number;
  readonly #now: number;
  #state: RateLimitState;

  constructor(app: App, clientId: string, window: RateWindow, now: number) {
    this.#app = app;
    this.#clientId = clientId;
    this.#startedAt = window.startedAt;
    this.#now = now;
    this.#state = rateLimitState(window, app.config.rateLimit, WINDOW_MS, now);
  }

  /** A promise only where the counter is elsewhere: in this process's memory it is counted at once. */
  countAuthenticated(): Promise<void> | undefined {
    const key = `client ${this.#clientId}`;
    const window = this.#app.store.counters.hit(key, WINDOW_MS, this.#now, this.#startedAt);
    if (window instanceof Promise) return window.then((shared) => this.#tighten(shared));
    this.#tighten(window);
    return undefined;
  }

  #tighten(window: RateWindow): void {
    const state = rateLimitState(window, this.#app.config.rateLimit, WINDOW_MS, this.#now);
    this.#state = tighter(this.#state, state);
  }

  get exceeded(): boolean {
    return this.#state.exceeded;
  }

  headers(): Record<string, string> {
    return {
      'ratelimit-limit': String(this.#app.config.rateLimit),
      'ratelimit-remaining': String(this.#state.remaining),
      'ratelimit-reset': String(this.#state.resetSeconds),
    };
  }

  retryAfter(): Record<string, string> {
    return { 'retry-after': String(this.#state.resetSeconds) };
  }
}

/** Anybody may send any client_id; a long one must not fill the memory. */
const bounded = (clientId: string): string =>
  clientId.length <= 64 ? clientId : hash('sha256', clientId, 'base64url');
