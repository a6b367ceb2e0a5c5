import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { PasswordsBusy } from './accounts/passwords.ts';
import { type Answer, errorAnswer, type Note, withErrorUri, withHeaders } from './answer.ts';
import type { App } from './app.ts';
import { countedRefusal } from './endpoints/client-request.ts';
import { measureRequests } from './metrics/request-metrics.ts';
import { page } from './page-answer.ts';
import { allAssets } from './pages/assets.ts';
import { messagePage } from './pages/message.ts';
import {
  BODY_TOO_LARGE,
  type ErrorCode,
  errorUri,
  METHOD_NOT_ALLOWED,
  NOT_FOUND,
  protocolError,
} from './protocol/errors.ts';
import { RequestLog } from './request-log/request-log.ts';
import { PAGES, routes } from './routes.ts';
import type { LoggedEndpoint } from './store/request-records.ts';
import { traceRequests } from './traces/request-spans.ts';

const BODY_LIMIT = 64 * 1024;
/** Requests here count against the limit of the client that they name. */
const COUNTED = new Set(['/oauth/token', '/oauth/revoke']);

declare module 'fastify' {
  interface FastifyRequest {
    note?: Note;
    errorCode?: ErrorCode;
  }
  interface FastifyContextConfig {
    /** Asked for so often and telling so little that it is logged only on request. */
    quiet?: boolean;
    /** Its requests go into the log of the application that they name. */
    logged?: LoggedEndpoint | undefined;
  }
}

const LOGGED: Readonly<Record<string, LoggedEndpoint>> = {
  '/oauth/authorize': 'authorize',
  '/oauth/token': 'token',
  '/oauth/revoke': 'revoke',
};

export function buildServer(app: App): FastifyInstance {
  const requestLog = RequestLog.of(app);
  const methods = new Map<string, string[]>();
  const server = Fastify({
    frameworkErrors: (error, request, reply) =>
      void send(
        app,
        request as FastifyRequest,
        reply as FastifyReply,
        failed(app, error, request as FastifyRequest),
      ),
    clientErrorHandler: refuseMalformedHttp,
    bodyLimit: BODY_LIMIT,
    trustProxy: app.config.trustProxy === 1 ? (_address, hop) => hop === 0 : app.config.trustProxy,
    genReqId: requestIds(app.now),
    // A slow or idle peer holds a connection this long and no longer.
    requestTimeout: 15_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 30_000,
    // Node looks only so often whether somebody's time is over.
    http: { headersTimeout: 10_000, maxHeaderSize: 16 * 1024, connectionsCheckingInterval: 1_000 },
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 200 },
  });
  // Bodies come as bytes: each endpoint decides what it reads, and a wrong type is its error to name.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  // Before the body is read: what is not here is not here, and a wrong method is that, whatever comes with it.
  server.addHook('onRequest', (request, reply, done) => {
    if (request.is404) send(app, request, reply, nothingHere(request, methods));
    else done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    logRequest(app, request, reply);
    requestLog.observe(request, reply);
    done();
  });
  server.addHook('onClose', () => requestLog.close());
  if (app.metrics) measureRequests(server, app.metrics);
  if (app.tracer) traceRequests(server, app.tracer);
  server.setErrorHandler((error: FastifyError, request, reply) => {
    const answer = failed(app, error, request);
    const limited = COUNTED.has(request.routeOptions.url ?? '');
    return send(app, request, reply, limited ? countedRefusal(app, request, answer) : answer);
  });

  for (const { method, path, handler } of routes(app)) {
    methods.set(path, [...(methods.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
    server.route({
      method,
      url: path,
      config: { quiet: path === '/health', logged: LOGGED[path] },
      handler: async (request, reply) => send(app, request, reply, await handler(app, request)),
    });
  }
  for (const { path, type, body } of allAssets()) {
    const headers = {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    };
    server.get(path, { config: { quiet: true } }, (_request, reply) => reply.headers(headers).send(body));
  }
  return server;
}

function send(app: App, request: FastifyRequest, reply: FastifyReply, result: Answer): FastifyReply {
  const answer = result.error ? explained(app, request, result) : result;
  if (answer.note) request.note = answer.note;
  if (answer.error) request.errorCode = answer.error;
  return reply.code(answer.status).headers(answer.headers).send(answer.body);
}

/** An error of the token or revocation endpoint says where its reason can be read. */
function explained(app: App, request: FastifyRequest, answer: Answer): Answer {
  const logged = request.routeOptions.config?.logged;
  if (logged !== 'token' && logged !== 'revoke') return answer;
  return withErrorUri(answer, request.id, errorUri(app.config.baseUrl, request.id));
}

function nothingHere(request: FastifyRequest, methods: ReadonlyMap<string, string[]>): Answer {
  const path = request.url.split('?', 1)[0]!;
  const allowed = methods.get(path);
  if (allowed) {
    return withHeaders(errorAnswer(protocolError('invalid_request', METHOD_NOT_ALLOWED, 405)), {
      allow: allowed.join(', '),
    });
  }
  if (!PAGES.test(path)) return errorAnswer(protocolError('invalid_request', NOT_FOUND, 404));
  return page(messagePage({ title: 'Page not found', paragraphs: [NOT_FOUND] }), { status: 404 });
}

/** The one place where what was not foreseen becomes an answer. Its details go to the log and nowhere else. */
function failed(app: App, error: FastifyError, request: FastifyRequest): Answer {
  const forPeople = PAGES.test(request.url.split('?', 1)[0]!);
  if (error.statusCode !== undefined && error.statusCode < 500) return malformed(error, request, forPeople);
  const busy = error instanceof PasswordsBusy;
  if (!busy) app.log.error({ err: error, request: request.id }, 'a request failed');
  if (!forPeople) return errorAnswer(busy ? 'temporarily_unavailable' : 'server_error');
  const content = messagePage({
    title: busy ? 'Busy right now' : 'Something went wrong',
    paragraphs: ['Nothing was changed that you did not see confirmed. Please try again in a moment.'],
    requestId: request.id,
  });
  return page(content, { status: busy ? 503 : 500, headers: { 'retry-after': '5' } });
}

/** What could not be read as a request at all. */
function malformed({ statusCode, code }: FastifyError, request: FastifyRequest, forPeople: boolean): Answer {
  const tooLarge = statusCode === 413;
  const error = tooLarge
    ? protocolError('invalid_request', BODY_TOO_LARGE, 413)
    : protocolError('invalid_request');
  if (!forPeople) return errorAnswer(error, { reason: code });
  const paragraphs = [
    tooLarge ? BODY_TOO_LARGE : 'The browser sent something that cannot be read. Nothing was changed.',
  ];
  const content = messagePage({ title: 'This could not be taken', paragraphs, requestId: request.id });
  return page(content, { status: error.status, note: { reason: code } });
}

/** What is not even HTTP, has too long a head or takes too long to come: told in our words, then hung up on. */
function refuseMalformedHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  const { body } = errorAnswer('invalid_request');
  const head = `content-type: application/json\r\ncache-control: no-store\r\ncontent-length: ${body.length}`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nconnection: close\r\n\r\n${body}`);
}

/** One line a request. The address as registered, never as sent: a query can hold a code. */
function logRequest(app: App, request: FastifyRequest, reply: FastifyReply): void {
  const level = request.routeOptions.config?.quiet ? 'debug' : 'info';
  app.log[level]({
    request: request.id,
    method: request.method,
    path: request.routeOptions.url ?? '(none)',
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    address: request.ip,
    client: request.note?.client,
    reason: request.note?.reason,
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
