import { randomBytes } from 'node:crypto';
import type { App } from '../app.ts';
import { countedRefusal } from '../oauth/client-auth.ts';
import type { Span, Tracer } from '../observability/tracer.ts';
import { messagePage } from '../pages/message.ts';
import {
  BODY_TOO_LARGE,
  errorUri,
  METHOD_NOT_ALLOWED,
  NOT_FOUND,
  protocolError,
  TemporarilyUnavailable,
} from '../protocol/errors.ts';
import { PAGES, routes } from '../routes.ts';
import { AccessLog, labelsOf } from './access-log.ts';
import { htmlResponse } from './html-response.ts';
import { HttpRequest, type ReceivedRequest } from './request.ts';
import { type Diagnostics, errorResponse, type HttpResponse, withErrorUri, withHeaders } from './response.ts';
import { decodePath, Router } from './router.ts';

/** Takes a request to its handler, and makes a response of whatever comes of it. */
export class Dispatcher {
  readonly #app: App;
  readonly #router: Router;
  readonly #answered: AccessLog;
  readonly #newId: () => string;

  constructor(app: App) {
    this.#app = app;
    this.#router = new Router(routes(app));
    this.#answered = new AccessLog(app);
    this.#newId = requestIds(app.now);
  }

  /** The request with its route, before its body is read. */
  receive(received: ReceivedRequest): HttpRequest {
    const request = new HttpRequest(this.#newId(), received, this.dispatch);
    const found = this.#router.find(received.method, request.path);
    if (found) {
      request.route = found.route;
      request.parameters = found.parameters;
    }
    return request;
  }

  readonly dispatch = (received: ReceivedRequest, body: Buffer): Promise<HttpResponse> => {
    const request = this.receive(received);
    request.body = body;
    return this.respond(request);
  };

  /** Whatever a handler does, there is a response. */
  async respond(request: HttpRequest): Promise<HttpResponse> {
    const { tracer } = this.#app;
    const span = tracer && beginSpan(tracer, request);
    let response: HttpResponse;
    try {
      response = await (span ? tracer.within(span, () => this.#handle(request)) : this.#handle(request));
    } catch (error) {
      response = failed(this.#app, error, request);
    }
    if (response.error) response = explained(this.#app, request, response);
    if (span) endSpan(tracer, span, request, response);
    return this.#diagnostics(request, response);
  }

  /** The response to a request whose body was not read to its end. */
  refuseBody(request: HttpRequest): HttpResponse {
    const refused = notTaken(request, 413, BODY_TOO_LARGE, { reason: 'body_too_large' });
    const counted = COUNTED.has(request.route?.logged)
      ? countedRefusal(this.#app, request, refused)
      : refused;
    return this.#diagnostics(request, explained(this.#app, request, counted));
  }

  close(): Promise<void> {
    return this.#answered.close();
  }

  #diagnostics(request: HttpRequest, response: HttpResponse): HttpResponse {
    const at = this.#app.now();
    this.#answered.add({ request, response, at, durationMs: performance.now() - request.startedAt });
    return response;
  }

  #handle(request: HttpRequest): Promise<HttpResponse> | HttpResponse {
    const { route } = request;
    return route
      ? route.handler(this.#app, request)
      : nothingHere(request, this.#router.methods(request.path));
  }
}

/** Requests here count against the limit of the client that they name. */
const COUNTED = new Set<string | undefined>(['token', 'revoke']);

/** An error of the token or revocation endpoint says where its reason can be read. */
function explained(app: App, request: HttpRequest, response: HttpResponse): HttpResponse {
  if (!COUNTED.has(request.route?.logged)) return response;
  return withErrorUri(response, request.id, errorUri(app.config.baseUrl, request.id));
}

const isPage = (request: HttpRequest): boolean => PAGES.test(request.path);

function nothingHere(request: HttpRequest, allowed: readonly string[]): HttpResponse {
  if (allowed.length > 0) {
    return withHeaders(errorResponse(protocolError('invalid_request', METHOD_NOT_ALLOWED, 405)), {
      allow: allowed.join(', '),
    });
  }
  if (decodePath(request.path) === undefined) return unreadable(request);
  if (!isPage(request)) return errorResponse(protocolError('invalid_request', NOT_FOUND, 404));
  return htmlResponse(messagePage({ title: 'Page not found', paragraphs: [NOT_FOUND] }), { status: 404 });
}

/** The one place where what was not foreseen becomes a response. Its details go to the log and nowhere else. */
function failed(app: App, error: unknown, request: HttpRequest): HttpResponse {
  const busy = error instanceof TemporarilyUnavailable;
  if (!busy) app.log.error({ err: error, request_id: request.id }, 'a request failed');
  if (!isPage(request)) return errorResponse(busy ? 'temporarily_unavailable' : 'server_error');
  const content = messagePage({
    title: busy ? 'Busy right now' : 'Something went wrong',
    paragraphs: ['Nothing was changed that you did not see confirmed. Please try again in a moment.'],
    requestId: request.id,
  });
  return htmlResponse(content, { status: busy ? 503 : 500, headers: { 'retry-after': '5' } });
}

const unreadable = (request: HttpRequest): HttpResponse =>
  notTaken(request, 400, 'What was sent cannot be read. Nothing was changed.', { reason: 'encoding' });

/** What could not be read as a request at all. */
function notTaken(
  request: HttpRequest,
  status: 400 | 413,
  why: string,
  diagnostics: Diagnostics,
): HttpResponse {
  if (!isPage(request))
    return errorResponse(
      status === 413 ? protocolError('invalid_request', why, 413) : 'invalid_request',
      diagnostics,
    );
  const content = messagePage({
    title: 'This could not be taken',
    paragraphs: [why],
    requestId: request.id,
  });
  return htmlResponse(content, { status, diagnostics });
}

function beginSpan(tracer: Tracer, { headers: { traceparent } }: HttpRequest): Span | undefined {
  return tracer.beginRequest(typeof traceparent === 'string' ? traceparent : undefined);
}

/** Named after OpenTelemetry's conventions for HTTP servers. Of the address the route alone: a query can carry a code. */
function endSpan(
  tracer: Tracer,
  span: Span,
  request: HttpRequest,
  { status, error, diagnostics }: HttpResponse,
): void {
  const { method, route } = labelsOf(request);
  tracer.end(span, {
    name: `${method} ${route}`,
    failed: status >= 500,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'postern.request_id': request.id,
      ...(error && { 'error.type': error }),
      ...(diagnostics?.clientId && { 'postern.client_id': diagnostics.clientId }),
      ...(diagnostics?.reason && { 'postern.reason': diagnostics.reason }),
    },
  });
}

/** Unique over restarts and nodes, and in the order of time: the time, a count and a random end for the process. */
function requestIds(now: () => number): () => string {
  const process = randomBytes(5).toString('hex');
  const digits = (number: number, length: number) => number.toString(36).padStart(length, '0');
  let count = 0;
  let [time, written] = [0, ''];
  return () => {
    count = (count + 1) % COUNTS;
    const at = now();
    if (at !== time) [time, written] = [at, digits(at, 9)];
    return written + digits(count, 4) + process;
  };
}

const COUNTS = 36 ** 4;
