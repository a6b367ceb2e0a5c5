import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import proxyAddress from '@fastify/proxy-addr';
import type { App } from '../app.ts';
import { Batch, onImmediate } from '../batch.ts';
import type { Config } from '../config.ts';
import { Dispatcher } from './dispatcher.ts';
import type { HttpRequest } from './request.ts';
import { errorResponse, type HttpResponse } from './response.ts';

const BODY_LIMIT = 64 * 1024;

/** How long a slow or idle peer may hold a connection. */
const PATIENCE = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 30_000,
  // Node looks only so often whether somebody's time is over.
  connectionsCheckingInterval: 1_000,
};
const CLOSE_IDLE_MS = 50;
const HANG_UP_MS = 1_000;

type Exchange = { readonly request: HttpRequest; readonly response: ServerResponse };

/** Postern over HTTP: what comes in through a socket goes to the dispatcher, and its response back. */
export class PosternServer {
  readonly #dispatcher: Dispatcher;
  readonly #log: App['log'];
  readonly #addressOf: (raw: IncomingMessage) => string;
  readonly http: Server;
  #closing = false;
  /** Requests that have come whole. */
  readonly #received = new Batch<Exchange>(onImmediate, (all) => {
    for (const exchange of all) this.#respond(exchange);
  });

  constructor(app: App) {
    this.#dispatcher = new Dispatcher(app);
    this.#log = app.log;
    this.#addressOf = addressReader(app.config.trustProxy);
    this.http = createServer({ ...PATIENCE, maxHeaderSize: 16 * 1024 }, (raw, response) =>
      this.#take(raw, response),
    );
    this.http.on('clientError', refuseMalformedHttp);
  }

  async listen(host: string, port: number): Promise<void> {
    this.http.listen({ host, port });
    await once(this.http, 'listening');
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port;
  }

  /** Takes no new connections, finishes the requests under way and writes down what waits to be. */
  async close(): Promise<void> {
    this.#closing = true;
    const closed = once(this.http, 'close');
    this.http.close();
    // A connection whose last request is answered is closed, though its client would keep it.
    const idle = setInterval(() => this.http.closeIdleConnections(), CLOSE_IDLE_MS);
    await closed;
    clearInterval(idle);
    await this.#dispatcher.close();
  }

  /** The body is read only where somebody is to read it: what is not here is not here, whatever comes with it. */
  #take(raw: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = raw;
    const ip = this.#addressOf(raw);
    const request = this.#dispatcher.receive({ method, url: originForm(url), headers, ip });
    const { route } = request;
    if (route?.method !== 'POST') this.#received.add({ request, response });
    else if (Number(headers['content-length'] ?? 0) > BODY_LIMIT)
      this.#send(response, this.#dispatcher.refuseBody(request));
    else
      readBody(raw, (body) => {
        if (body) {
          request.body = body;
          this.#received.add({ request, response });
        } else this.#send(response, this.#dispatcher.refuseBody(request));
      });
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
    // Where every character is one byte, the two encodings are the same, and this one is the quicker.
    response.end(body, length === body.length ? 'latin1' : 'utf8');
    // A peer that does not fetch its response may not hold the connection for ever either. Nearly every response is taken
    // by the system at once: a timeout of the connection as a whole would be set anew at each for nothing.
    const { socket } = response.req;
    const pipelined = response.socket === null;
    if (pipelined || socket.writableLength > 0) socket.setTimeout(this.http.requestTimeout);
  }
}

/**
 * Bodies come as bytes: each endpoint decides what it reads, and a wrong type is its error to name. One that is too
 * large is answered at once; what still comes of it is let go by. Of one that breaks off there is nobody to response.
 */
function readBody(raw: IncomingMessage, done: (body: Buffer | undefined) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  raw.on('error', () => {});
  raw.on('data', (chunk: Buffer) => {
    const fitted = size <= BODY_LIMIT;
    size += chunk.length;
    if (size <= BODY_LIMIT) chunks.push(chunk);
    else if (fitted) done(undefined);
  });
  raw.on('end', () => {
    if (size <= BODY_LIMIT) done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  });
}

/** RFC 9112 3.2.2: an address may be given whole; whose it is does not matter here. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest === url || rest.startsWith('/') ? rest : `/${rest}`;
}

/** Where a request comes from: the peer, or whom the proxies that are trusted name. */
function addressReader(trusted: Config['trustProxy']): (raw: IncomingMessage) => string {
  if (trusted === false) return (raw) => raw.socket.remoteAddress ?? '';
  const trust =
    trusted === 1
      ? (_address: string, hop: number) => hop === 0
      : proxyAddress.compile(trusted.split(',').map((one) => one.trim()));
  return (raw) => (raw.socket.remoteAddress === undefined ? '' : proxyAddress(raw, trust));
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
  const { body } = errorResponse('invalid_request');
  const head = `content-type: application/json\r\ncache-control: no-store\r\ncontent-length: ${body.length}`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nconnection: close\r\n\r\n${body}`);
  // A peer may keep its half of the connection open, or go on sending.
  setTimeout(() => socket.destroy(), HANG_UP_MS).unref();
}
