import { hash, randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import type { User } from '../store/users.ts';
import { addAccount, deviceIdFor } from './device-cookie.ts';
import { safeReturnTo } from './return-to.ts';

const SESSION_TTL_MS = 14 * 24 * 3600 * 1000;
const ID = /^[A-Za-z0-9_-]{43}$/;
const KNOWN_TTL_MS = 365 * 24 * 3600 * 1000;
const MAX_RETURN_TO_LENGTH = 3000;

/** A request's browser: its cookies, and the forms that were made for it. */
export class Browser {
  readonly #app: App;
  readonly #request: HttpRequest;
  readonly #sessionId: string | undefined;
  readonly #known: string;
  readonly #returnTo: string | undefined;
  #browserId: string | undefined;
  #setCookies: string[] = [];

  constructor(app: App, request: HttpRequest) {
    this.#app = app;
    this.#request = request;
    const cookies = parseCookie(request.headers.cookie ?? '');
    const id = (name: string) => (ID.test(cookies[name] ?? '') ? cookies[name] : undefined);
    this.#sessionId = id(this.#name('session'));
    this.#browserId = id(this.#name('browser'));
    this.#known = cookies[this.#name('known')] ?? '';
    this.#returnTo = cookies[this.#name('return')];
  }

  /** Who is signed in, unless the session ended or the user was disabled. */
  async user(): Promise<User | undefined> {
    if (!this.#sessionId) return undefined;
    return this.#app.store.sessions.findUser(hashId(this.#sessionId), this.#app.now());
  }

  /** Always a new id at sign-in, so that one planted before it is worth nothing. */
  async signIn(user: Pick<User, 'id'>): Promise<void> {
    if (this.#sessionId) await this.#app.store.sessions.end(hashId(this.#sessionId));
    const id = newId();
    const now = this.#app.now();
    await this.#app.store.sessions.create({
      idHash: hashId(id),
      userId: user.id,
      now,
      expiresAt: now + SESSION_TTL_MS,
      address: this.#request.ip,
      userAgent: this.#request.userAgent,
    });
    this.#setCookie('session', id, SESSION_TTL_MS);
    this.rememberDevice(user.id);
  }

  /** Gives this browser guesses of its own at the account's password. */
  rememberDevice(userId: string): void {
    this.#setCookie('known', addAccount(this.#app.keys.pageSigner, this.#known, userId), KNOWN_TTL_MS);
  }

  /** Undefined when this browser never signed in to the account. */
  deviceIdFor(userId: string): string | undefined {
    return deviceIdFor(this.#app.keys.pageSigner, this.#known, userId);
  }

  /** What the store knows this session by. */
  get sessionHash(): string {
    return this.#sessionId ? hashId(this.#sessionId) : '';
  }

  /** What this browser is recognised by while nobody is signed in; undefined before it was given a form. */
  get browserIdHash(): string | undefined {
    return this.#browserId && hashId(this.#browserId);
  }

  /** Where this browser was going when its owner stopped to make an account. */
  get returnTo(): string {
    return safeReturnTo(this.#returnTo);
  }

  keepReturnTo(path: string): void {
    const worth = path !== '/' && path.length <= MAX_RETURN_TO_LENGTH;
    if (worth || this.#returnTo !== undefined)
      this.#setCookie('return', worth ? path : '', worth ? undefined : 0);
  }

  async signOut(): Promise<void> {
    if (this.#sessionId) await this.#app.store.sessions.end(hashId(this.#sessionId));
    this.#setCookie('session', '', 0);
  }

  /** The token of a form: bound to the session, or before there is one to an id that only marks the browser. */
  csrfToken(): string {
    if (!this.#sessionId && !this.#browserId) {
      this.#browserId = newId();
      this.#setCookie('browser', this.#browserId);
    }
    return this.sign('form', '');
  }

  /** A form that another site made this browser send has neither the right token nor the right origin. */
  hasValidCsrfToken(form: ReadonlyMap<string, string>): boolean {
    return !this.isCrossSite() && this.verify('form', '', form.get('form_token') ?? '');
  }

  isCrossSite(): boolean {
    return this.#request.headers['sec-fetch-site'] === 'cross-site';
  }

  /** A signature that only this browser, in this session, can give back. */
  sign(purpose: string, text: string): string {
    return this.#app.keys.pageSigner.sign(`${purpose} ${this.#sessionId ?? this.#browserId ?? ''}`, text);
  }

  verify(purpose: string, text: string, signature: string): boolean {
    if (!this.#sessionId && !this.#browserId) return false;
    return this.#app.keys.pageSigner.verify(
      `${purpose} ${this.#sessionId ?? this.#browserId}`,
      text,
      signature,
    );
  }

  /** The cookies this request set, for its response. */
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
