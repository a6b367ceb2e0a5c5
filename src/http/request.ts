import type { IncomingHttpHeaders } from 'node:http';
import type { App } from '../app.ts';
import type { GrantRef } from '../protocol/credentials.ts';
import { parseForm } from '../protocol/parameters.ts';
import type { LoggedEndpoint } from '../store/request-log.ts';
import type { HttpResponse } from './response.ts';

export type Handler = (app: App, request: HttpRequest) => Promise<HttpResponse> | HttpResponse;

export type Route = {
  readonly method: 'GET' | 'POST';
  /** A segment `:name` matches any one segment. */
  readonly path: string;
  readonly handler: Handler;
  /** Error responses carry `error_uri`, where the application's developer reads the reason. */
  readonly explainsErrors?: boolean;
  /** The handler counts every request against the limit of the client it names, also one with an oversized body. */
  readonly countsAgainstLimit?: boolean;
  /** Under this name the requests go to the request log of the application they name. */
  readonly logged?: LoggedEndpoint;
  /** Access-log level `debug`: requested often, and of little interest. */
  readonly quiet?: boolean;
};

/** A request as it arrives, over HTTP or from the playground. */
export type ReceivedRequest = {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly ip: string;
  /** The header of that name, if a trusted proxy sent it: it decides whether the request is traced. */
  readonly traceparent?: string | string[] | undefined;
};

type Dispatch = (received: ReceivedRequest, body: Buffer) => Promise<HttpResponse>;

/** Use of the client's rate limit at one request. */
type RateLimitUse = {
  readonly headers: () => Readonly<Record<string, string>>;
  /** Requests in the current window, this one included; at most the limit. */
  readonly used: number;
};

const MAX_USER_AGENT_LENGTH = 300;
const NO_BODY = Buffer.alloc(0);
const NO_PARAMETERS: Readonly<Record<string, string>> = {};

/** A request as the endpoints and pages see it. */
export class HttpRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly ip: string;
  readonly traceparent: ReceivedRequest['traceparent'];
  readonly startedAt = performance.now();
  /** Sends another request through the whole service, as if it came from outside. */
  readonly dispatch: Dispatch;
  /** Undefined where no route matches. */
  route: Route | undefined;
  /** Values of the route's `:name` segments. */
  parameters = NO_PARAMETERS;
  body: Buffer = NO_BODY;
  bodyTooLarge = false;
  /**
   * Set by client endpoints as soon as they are known, so that every response, also one to a request that fails
   * unexpectedly, has the limit's headers and reaches the application's log.
   */
  claimedClientId: string | undefined;
  /** The client, once it has authenticated, and the credential that it presents. */
  clientId: string | undefined;
  ref: GrantRef | undefined;
  rateLimit: RateLimitUse | undefined;
  #query: ReadonlyMap<string, string> | undefined;

  constructor(id: string, { method, url, headers, ip, traceparent }: ReceivedRequest, dispatch: Dispatch) {
    this.id = id;
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.ip = ip;
    this.traceparent = traceparent;
    this.dispatch = dispatch;
  }

  get path(): string {
    const mark = this.url.indexOf('?');
    return mark < 0 ? this.url : this.url.slice(0, mark);
  }

  /** The query as sent, without the question mark; empty when there is none. */
  get rawQuery(): string {
    const mark = this.url.indexOf('?');
    return mark < 0 ? '' : this.url.slice(mark + 1);
  }

  /** Query parameters, decoded; malformed ones are left out. */
  get query(): ReadonlyMap<string, string> {
    this.#query ??= parseForm(this.rawQuery).values;
    return this.#query;
  }

  /** Bounded, because it is text that anybody may choose. */
  get userAgent(): string {
    return (this.headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT_LENGTH);
  }
}

/** A request with its response, for logs and metrics. */
export type CompletedRequest = {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** By the service's clock. */
  readonly at: number;
  /** From the request's headers to its response. */
  readonly durationMs: number;
};
