import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import proxyAddress from '@fastify/proxy-addr';
import type { App } from '../app.ts';
import { Batch, onImmediate } from '../batch.ts';
import type { Config } from '../config.ts';
import { BODY_LIMIT, readBody } from './body.ts';
import { Dispatcher, type Routing } from './dispatcher.ts';
import type { HttpRequest } from './request.ts';
import { errorResponse, type HttpResponse } from './response.ts';

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
type CountedSocket = Socket & { [UNANSWERED]?: number };

/** The HTTP server: reads requests from sockets, and writes the dispatcher's responses. */
export class PosternServer {
  readonly #dispatcher: Dispatcher;
  readonly #log: App['log'];
  readonly #addressOf: (raw: IncomingMessage) => string;
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
    this.#addressOf = addressReader(app.config.trustProxy);
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
    countUnanswered(raw.socket, 1);
    const ip = this.#addressOf(raw);
    const request = this.#dispatcher.receive({ method, url: originForm(url), headers, ip });
    if (request.route?.method !== 'POST') return void this.#received.add({ request, response });
    const finish = (body: Buffer | undefined) => {
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
function countUnanswered(socket: CountedSocket, change: 1 | -1): void {
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

/** The client's address: the peer's, or the one that trusted proxies forward. */
function addressReader(trusted: Config['trustProxy']): (raw: IncomingMessage) => string {
  if (trusted === false) return (raw) => raw.socket.remoteAddress ?? '';
  const trust =
    trusted === 1
      ? (_address: string, hop: number) => hop === 0
      : proxyAddress.compile(trusted.split(',').map((one) => one.trim()));
  return (raw) => (raw.socket.remoteAddress === undefined ? '' : proxyAddress(raw, trust));
}

/** Malformed HTTP, oversized headers or a request timeout: our JSON error, then the connection is closed. */
function refuseMalformedHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  const { body } = errorResponse('invalid_request');
  const head = `content-type: application/json\r\ncache-control: no-store\r\ncontent-length: ${body.length}`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nconnection: close\r\n\r\n${body}`);
  // The peer may keep its half of the connection open, or go on sending.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
