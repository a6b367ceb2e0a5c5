import type { IncomingHttpHeaders } from 'node:http';
import type { App } from '../app.ts';
import { parseForm } from '../protocol/parameters.ts';
import type { LoggedEndpoint } from '../store/request-log.ts';
import type { HttpResponse } from './response.ts';

export type Handler = (app: App, request: HttpRequest) => Promise<HttpResponse> | HttpResponse;

export type Route = {
  readonly method: 'GET' | 'POST';
  /** As registered; `:name` stands for one segment. */
  readonly path: string;
  readonly handler: Handler;
  /** Asked for so often and telling so little that it is logged only on request. */
  readonly quiet?: boolean;
  /** Its requests go into the log of the application that they name. */
  readonly logged?: LoggedEndpoint;
};

/** What was received, whichever way it came. */
export type ReceivedRequest = {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Where it came from. */
  readonly ip: string;
};

export type Dispatch = (received: ReceivedRequest, body: Buffer) => Promise<HttpResponse>;

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
  readonly startedAt = performance.now();
  /** Takes another request the same way as one from outside. */
  readonly dispatch: Dispatch;
  /** Undefined where nothing is found at the address. */
  route: Route | undefined;
  /** What stands in the path in place of the route's `:name`s. */
  parameters = NO_PARAMETERS;
  body: Buffer = NO_BODY;
  #query: ReadonlyMap<string, string> | undefined;

  constructor(id: string, { method, url, headers, ip }: ReceivedRequest, dispatch: Dispatch) {
    this.id = id;
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.ip = ip;
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

/** A request that has its answer, for those who take diagnostics of it. */
export type CompletedRequest = {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** By the service's clock. */
  readonly at: number;
  /** From the request's head to its answer. */
  readonly durationMs: number;
};
