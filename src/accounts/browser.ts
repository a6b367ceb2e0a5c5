import { hash, randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyRequest } from 'fastify';
import type { App } from '../app.ts';
import type { User } from '../store/store.ts';

const SESSION_TTL_MS = 14 * 24 * 3600 * 1000;
const ID = /^[A-Za-z0-9_-]{43}$/;
const LONGEST_USER_AGENT = 300;

/** A request's browser: its cookies, and the forms that were made for it. */
export class Browser {
  readonly #app: App;
  readonly #request: FastifyRequest;
  readonly #sessionId: string | undefined;
  #browserId: string | undefined;
  #setCookies: string[] = [];

  constructor(app: App, request: FastifyRequest) {
    this.#app = app;
    this.#request = request;
    const cookies = parseCookie(request.headers.cookie ?? '');
    const id = (name: string) => (ID.test(cookies[name] ?? '') ? cookies[name] : undefined);
    this.#sessionId = id(this.#name('session'));
    this.#browserId = id(this.#name('browser'));
  }

  /** Who is signed in, unless the session ended or the user was disabled. */
  async user(): Promise<User | undefined> {
    if (!this.#sessionId) return undefined;
    return this.#app.store.sessions.findUser(hashId(this.#sessionId), this.#app.now());
  }

  /** Always a new id at sign-in, so that one planted before it is worth nothing. */
  async signIn(user: User): Promise<void> {
    if (this.#sessionId) await this.#app.store.sessions.end(hashId(this.#sessionId));
    const id = newId();
    const now = this.#app.now();
    await this.#app.store.sessions.create({
      idHash: hashId(id),
      userId: user.id,
      now,
      expiresAt: now + SESSION_TTL_MS,
      address: this.#request.ip,
      userAgent: (this.#request.headers['user-agent'] ?? '').slice(0, LONGEST_USER_AGENT),
    });
    this.#setCookie('session', id, SESSION_TTL_MS);
  }

  async signOut(): Promise<void> {
    if (this.#sessionId) await this.#app.store.sessions.end(hashId(this.#sessionId));
    this.#setCookie('session', '', 0);
  }

  /** The token of a form: bound to the session, or before there is one to an id that only marks the browser. */
  formToken(): string {
    if (!this.#sessionId && !this.#browserId) {
      this.#browserId = newId();
      this.#setCookie('browser', this.#browserId);
    }
    return this.sign('form', '');
  }

  /** A form that another site made this browser send has neither the right token nor the right origin. */
  sentForm(form: ReadonlyMap<string, string>): boolean {
    return !this.crossSite() && this.verify('form', '', form.get('form_token') ?? '');
  }

  crossSite(): boolean {
    return this.#request.headers['sec-fetch-site'] === 'cross-site';
  }

  /** A signature that only this browser, in this session, can give back. */
  sign(purpose: string, text: string): string {
    return this.#app.keys.pages.sign(`${purpose} ${this.#sessionId ?? this.#browserId ?? ''}`, text);
  }

  verify(purpose: string, text: string, signature: string): boolean {
    if (!this.#sessionId && !this.#browserId) return false;
    return this.#app.keys.pages.verify(`${purpose} ${this.#sessionId ?? this.#browserId}`, text, signature);
  }

  /** The cookies this request set, for its answer. */
  headers(): Record<string, string[]> {
    return this.#setCookies.length > 0 ? { 'set-cookie': this.#setCookies } : {};
  }

  /** Over https the name's prefix makes browsers refuse the cookie from anywhere but this very host (RFC 6265bis). */
  #name(name: string): string {
    return this.#secure ? `__Host-postern_${name}` : `postern_${name}`;
  }

  get #secure(): boolean {
    return this.#app.config.baseUrl.startsWith('https:');
  }

  #setCookie(name: string, value: string, ttlMs?: number): void {
    this.#setCookies.push(
      stringifySetCookie({
        name: this.#name(name),
        value,
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        secure: this.#secure,
        ...(ttlMs !== undefined && { maxAge: ttlMs / 1000 }),
      }),
    );
  }
}

const newId = (): string => randomBytes(32).toString('base64url');
const hashId = (id: string): string => hash('sha256', id, 'hex');
