import { STATUS_CODES } from 'node:http';
import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import type { Exchange, RawRequest } from '../pages/playground-exchange.ts';
import type { PlaygroundApp } from './playground-app.ts';

/**
 * Sends requests in the name of the playground's application. They go through this server's own dispatcher, with
 * every check, limit and log of a request from outside, but over no socket: no server-side request forgery.
 */
export class PlaygroundRequests {
  readonly #app: App;
  readonly #http: HttpRequest;
  readonly #playground: PlaygroundApp;

  constructor(app: App, http: HttpRequest, playground: PlaygroundApp) {
    this.#app = app;
    this.#http = http;
    this.#playground = playground;
  }

  exchangeCode(code: string, verifier: string): Promise<Exchange> {
    return this.#post('/oauth/token', {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.#playground.redirectUri,
      code_verifier: verifier,
    });
  }

  refresh(refreshToken: string): Promise<Exchange> {
    return this.#post('/oauth/token', { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  revoke(token: string): Promise<Exchange> {
    return this.#post('/oauth/revoke', { token });
  }

  userinfo(accessToken: string): Promise<Exchange> {
    return this.#send({
      method: 'GET',
      url: `${this.#app.config.baseUrl}/oauth/userinfo`,
      headers: { authorization: `Bearer ${accessToken}` },
    });
  }

  #post(path: string, parameters: Record<string, string>): Promise<Exchange> {
    const { clientId: client_id, clientSecret: client_secret } = this.#playground;
    return this.#send({
      method: 'POST',
      url: this.#app.config.baseUrl + path,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      form: { ...parameters, client_id, client_secret },
    });
  }

  async #send(request: RawRequest): Promise<Exchange> {
    const { method, url, headers, form } = request;
    const received = {
      method,
      url: new URL(url).pathname,
      headers: { ...headers, 'user-agent': 'Postern playground' },
      ip: this.#http.ip,
    };
    const body = Buffer.from(form ? new URLSearchParams(form).toString() : '');
    const response = await this.#http.dispatch(received, body);
    const { status } = response;
    const shown = Object.entries(response.headers).filter(([name]) => SHOWN_HEADERS.test(name));
    return {
      request,
      status,
      statusText: STATUS_CODES[status] ?? '',
      headers: shown.map(([name, value]) => [name, String(value)] as const),
      body: response.body,
    };
  }
}

/** Headers that matter to a client. */
const SHOWN_HEADERS = /^(content-type|cache-control|ratelimit-.*|retry-after|www-authenticate|x-request-id)$/;
