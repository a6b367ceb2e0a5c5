import type { App } from '../app.ts';
import type { Span, Tracer } from '../observability/tracer.ts';
import { errorUri, TemporarilyUnavailable } from '../protocol/errors.ts';
import { reasonOf } from '../request-log/diagnostics.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../store/errors.ts';
import { AccessLog, labelsOf } from './access-log.ts';
import { ErrorResponses, type UnexpectedFailure } from './error-responses.ts';
import { HttpRequest, type ReceivedRequest, type Route } from './request.ts';
import { requestIds } from './request-id.ts';
import { type HttpResponse, withErrorUri, withHeaders } from './response.ts';
import { decodePath, Router } from './router.ts';

/** The addresses that a service answers (src/routes.ts). */
export type Routing = {
  readonly routes: readonly Route[];
  /** Whether errors at this path are shown as a page; elsewhere they are JSON. */
  readonly isPage: (path: string) => boolean;
};

/** Routes a request and turns any outcome, errors included, into a response. */
export class Dispatcher {
  readonly #app: App;
  readonly #router: Router;
  readonly #errors: ErrorResponses;
  readonly #accessLog: AccessLog;
  readonly #newId: () => string;

  constructor(app: App, { routes, isPage }: Routing) {
    this.#app = app;
    this.#router = new Router(routes);
    this.#errors = new ErrorResponses(isPage);
    this.#accessLog = new AccessLog(app);
    this.#newId = requestIds(app.now);
  }

  /** The request with its route, before its body is read. */
  receive(received: ReceivedRequest): HttpRequest {
    const request = new HttpRequest(this.#newId(), received, this.dispatch);
    const match = this.#router.find(received.method, request.path);
    if (match) {
      request.route = match.route;
      request.parameters = match.parameters;
    }
    return request;
  }

  readonly dispatch = (received: ReceivedRequest, body: Buffer): Promise<HttpResponse> => {
    const request = this.receive(received);
    request.body = body;
    return this.respond(request);
  };

  /** The one error boundary: handlers throw only what they did not foresee. */
  async respond(request: HttpRequest): Promise<HttpResponse> {
    const { tracer } = this.#app;
    const span = tracer && beginSpan(tracer, request);
    let response: HttpResponse;
    try {
      response = await (span ? tracer.within(span, () => this.#handle(request)) : this.#handle(request));
    } catch (error) {
      response = this.#fail(request, error);
    }
    if (request.rateLimit) response = withHeaders(response, request.rateLimit.headers());
    if (response.error && request.route?.explainsErrors)
      response = withErrorUri(response, request.id, errorUri(this.#app.config.baseUrl, request.id));
    if (span) endSpan(tracer, span, request, response);
    const durationMs = performance.now() - request.startedAt;
    this.#accessLog.record({ request, response, at: this.#app.now(), durationMs });
    return response;
  }

  /** Writes out what the logs still hold. */
  close(): Promise<void> {
    return this.#accessLog.close();
  }

  #handle(request: HttpRequest): Promise<HttpResponse> | HttpResponse {
    const { route } = request;
    if (!route) return this.#unrouted(request);
    if (request.bodyTooLarge && !route.countsAgainstLimit) return this.#errors.bodyTooLarge(request);
    return route.handler(this.#app, request);
  }

  #unrouted(request: HttpRequest): HttpResponse {
    const allowed = this.#router.methods(request.path);
    if (allowed.length > 0) return this.#errors.methodNotAllowed(allowed);
    return decodePath(request.path) === undefined
      ? this.#errors.malformedPath(request)
      : this.#errors.notFound(request);
  }

  /** The error itself goes to the log and nowhere else. */
  #fail(request: HttpRequest, error: unknown): HttpResponse {
    const busy = error instanceof TemporarilyUnavailable;
    if (!busy) this.#app.log.error({ err: error, request_id: request.id }, 'a request failed');
    return this.#errors.failed(request, unexpectedFailure(error));
  }
}

function unexpectedFailure(error: unknown): UnexpectedFailure {
  if (error instanceof OutcomeUnknown) return 'outcome_unknown';
  const unavailable = error instanceof TemporarilyUnavailable || error instanceof DatabaseUnavailable;
  return unavailable ? 'temporarily_unavailable' : 'server_error';
}

function beginSpan(tracer: Tracer, { traceparent }: HttpRequest): Span | undefined {
  return tracer.beginRequest(typeof traceparent === 'string' ? traceparent : undefined);
}

/** Named after OpenTelemetry's conventions for HTTP servers. The route, not the path: a query can carry a code. */
function endSpan(
  tracer: Tracer,
  span: Span,
  request: HttpRequest,
  { status, error, diagnostics }: HttpResponse,
): void {
  const { method, route } = labelsOf(request);
  const reason = reasonOf(diagnostics);
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
      ...(reason && { 'postern.reason': reason }),
    },
  });
}
