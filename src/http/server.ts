import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { App } from '../app.ts';
import { Batch, onImmediate } from '../batch.ts';
import { BODY_LIMIT, readBody } from './body.ts';
import { ClientAddresses } from './client-address.ts';
import { Dispatcher, type Routing } from './dispatcher.ts';
import type { HttpRequest } from './request.ts';
import { errorResponse, type HttpResponse, withHeaders } from './response.ts';

/** Bounds on how long a slow or idle peer can hold a connection. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 30_000,
  // How often Node enforces the two above; its default of 30 s would double them.
  connectionsCheckingInterval: 1_000,
};
const CLOSE_IDLE_INTERVAL_MS = 50;
const LINGER_MS = 1_000;

/** Requests that one connection may have unanswered before it is read no further, and fewer to read on. */
const MAX_UNANSWERED = 16;
const RESUME_BELOW = 8;
/** Requests handled in one event-loop turn: a flood must let timers and other connections in between. */
const MAX_PER_TURN = 100;

type Exchange = { readonly request: HttpRequest; readonly response: ServerResponse };

const UNANSWERED = Symbol('unanswered requests');
const LAST_RESPONSE = Symbol('response to the last request');
const RECEIVING = Symbol('response to a request whose body is being received');
const REFUSED = Symbol('malformed input was refused');
type ServedSocket = Socket & {
  [UNANSWERED]?: number;
  [LAST_RESPONSE]?: ServerResponse;
  [RECEIVING]?: ServerResponse | undefined;
  [REFUSED]?: boolean;
};

const BAD_HOST = errorResponse('invalid_request');

/** The HTTP server: reads requests from sockets, and writes the dispatcher's responses. */
export class PosternServer {
  readonly #dispatcher: Dispatcher;
  readonly #log: App['log'];
  readonly #addresses: ClientAddresses;
  readonly #traced: boolean;
  readonly http: Server;
  /** Every response closes its connection, so that a proxy opens the next one elsewhere. */
  #closing = false;
  /** Completely received requests: those of one event-loop turn are handled in one batch (decision 007). */
  readonly #received = new Batch<Exchange>(
    onImmediate,
    (batch) => {
      for (const exchange of batch) this.#respond(exchange);
    },
    MAX_PER_TURN,
  );

  constructor(app: App, routing: Routing) {
    this.#dispatcher = new Dispatcher(app, routing);
    this.#log = app.log;
    this.#addresses = new ClientAddresses(app.config.trustProxy);
    this.#traced = app.tracer !== undefined;
    this.http = createServer({ ...TIMEOUTS, maxHeaderSize: 16 * 1024 }, (raw, response) =>
      this.#receive(raw, response),
    );
    this.http.maxConnections = app.config.maxConnections;
    this.http.on('clientError', refuseMalformedHttp);
  }

  async listen(host: string, port: number): Promise<void> {
    this.http.listen({ host, port });
    await once(this.http, 'listening');
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port;
  }

  /**
   * Goes on serving for a while, while /health tells load balancers to go elsewhere. Without that, requests that a proxy
   * sends at the very moment of closing fail.
   */
  async drain(delayMs: number): Promise<void> {
    this.#closing = true;
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  }

  /** Accepts no new connections, finishes the requests under way and flushes the logs. */
  async close(): Promise<void> {
    this.#closing = true;
    const closed = once(this.http, 'close');
    this.http.close();
    // Keep-alive connections are closed after their last response, though their clients would keep them.
    const idle = setInterval(() => this.http.closeIdleConnections(), CLOSE_IDLE_INTERVAL_MS);
    await closed;
    clearInterval(idle);
    await this.#dispatcher.close();
  }

  /** The body is read only for routes that use it. */
  #receive(raw: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = raw;
    const socket: ServedSocket = raw.socket;
    countUnanswered(socket, 1);
    socket[LAST_RESPONSE] = response;
    if (!hasValidHost(raw)) return void this.#send(response, withHeaders(BAD_HOST, { connection: 'close' }));
    const ip = this.#addresses.of(raw);
    const traceparent = this.#traced && this.#addresses.trustsPeer(raw) ? headers.traceparent : undefined;
    const request = this.#dispatcher.receive({ method, url: originForm(url), headers, ip, traceparent });
    if (request.route?.method !== 'POST') return void this.#received.add({ request, response });
    socket[RECEIVING] = response;
    const finish = (body: Buffer | undefined) => {
      if (socket[RECEIVING] === response) socket[RECEIVING] = undefined;
      if (body) request.body = body;
      else request.bodyTooLarge = true;
      this.#received.add({ request, response });
    };
    if (Number(headers['content-length'] ?? 0) > BODY_LIMIT) finish(undefined);
    else readBody(raw, finish);
  }

  #respond({ request, response }: Exchange): void {
    this.#dispatcher
      .respond(request)
      .then((result) => this.#send(response, result))
      .catch((error: unknown) => {
        // The response could not be built or written: end this connection, not the service.
        this.#log.error({ err: error, request_id: request.id }, 'a response failed');
        response.destroy();
      });
  }

  #send(response: ServerResponse, { status, headers, body }: HttpResponse): void {
    const length = Buffer.byteLength(body);
    response.writeHead(status, {
      ...headers,
      'content-length': length,
      ...(this.#closing && { connection: 'close' }),
    });
    // For ASCII the two encodings are the same, and latin1 is the faster.
    response.end(body, length === body.length ? 'latin1' : 'utf8');
    // A peer that does not read its response must not hold the connection for ever. The kernel takes nearly every
    // response at once, so the timeout is set only where it did not: setting it for each one costs for nothing.
    const { socket } = response.req;
    countUnanswered(socket, -1);
    const pipelined = response.socket === null;
    if (pipelined || socket.writableLength > 0) socket.setTimeout(this.http.requestTimeout);
  }
}

/** A client may pipeline requests without waiting for responses, and each holds memory until it is answered. */
function countUnanswered(socket: ServedSocket, change: 1 | -1): void {
  const unanswered = (socket[UNANSWERED] ?? 0) + change;
  socket[UNANSWERED] = unanswered;
  // Node resumes a socket after each message that it has parsed: pause after those of this read.
  if (change === 1 && unanswered === MAX_UNANSWERED) process.nextTick(() => socket.pause());
  else if (change === -1 && unanswered === RESUME_BELOW) socket.resume();
}

/** RFC 9112 3.2.2: a request target may be absolute. Its host does not matter here. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest === url || rest.startsWith('/') ? rest : `/${rest}`;
}

/** RFC 9112 3.2: exactly one Host, or the request is refused: two parsers could read two different ones. */
function hasValidHost({ rawHeaders, headers }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts <= 1 && HOST.test(headers.host ?? '');
}

/** The characters of RFC 3986 3.2.2 and a port. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/**
 * Malformed HTTP, oversized headers or a request timeout: our JSON error, then the connection is closed. Responses to
 * earlier requests of the connection go first (RFC 9112 9.3.2).
 */
function refuseMalformedHttp(error: NodeJS.ErrnoException, socket: ServedSocket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  if (socket[REFUSED]) return;
  socket[REFUSED] = true;
  const status = STATUS_OF[error.code ?? ''] ?? 400;
  const { headers, body } = withHeaders(errorResponse('invalid_request'), { connection: 'close' });
  // The peer may keep its half of the connection open, or go on sending.
  const close = () => {
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
  const receiving = socket[RECEIVING];
  if (receiving && !receiving.req.complete) {
    // Its body is malformed or late: this is the response to that request.
    receiving.once('close', close);
    receiving.writeHead(status, { ...headers, 'content-length': body.length }).end(body);
    return;
  }
  const last = socket[LAST_RESPONSE];
  const refuse = () => {
    // Malformed input in the body of a request that was answered gets no response of its own.
    if (!socket.writable || last?.req.complete === false) socket.end();
    else
      socket.end(
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headerLines(headers, body)}\r\n\r\n${body}`,
      );
    close();
  };
  if (!last || last.writableFinished) return void refuse();
  last.once('finish', refuse);
}

const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const headerLines = (headers: HttpResponse['headers'], body: string): string =>
  Object.entries({ ...headers, 'content-length': body.length })
    .map(([name, value]) => `${name}: ${value}`)
    .join('\r\n');
