import { hash, randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { App } from '../app.ts';
import { formOf } from '../http/form.ts';
import type { HttpRequest } from '../http/request.ts';
import type { User } from '../store/users.ts';
import { addAccount, type Device, deviceFor, isCurrent } from './device-cookie.ts';
import { safeReturnTo } from './return-to.ts';

const SESSION_TTL_MS = 14 * 24 * 3600 * 1000;
const DEVICE_TTL_MS = 365 * 24 * 3600 * 1000;
const COOKIE_ID = /^[A-Za-z0-9_-]{43}$/;
const MAX_RETURN_TO_LENGTH = 3000;
const NO_FIELDS: ReadonlyMap<string, string> = new Map();

type SignedInUser = Pick<User, 'id' | 'email' | 'passwordHash'>;

/** The browser that sent a request: its cookies, its session and the CSRF tokens of its forms. */
export class Browser {
  readonly #app: App;
  readonly #request: HttpRequest;
  readonly #sessionId: string | undefined;
  readonly #deviceCookie: string;
  readonly #returnTo: string | undefined;
  #browserId: string | undefined;
  #setCookies: string[] = [];

  constructor(app: App, request: HttpRequest) {
    this.#app = app;
    this.#request = request;
    const cookies = parseCookie(request.headers.cookie ?? '');
    const id = (name: string) => (COOKIE_ID.test(cookies[name] ?? '') ? cookies[name] : undefined);
    this.#sessionId = id(this.#name('session'));
    this.#browserId = id(this.#name('browser'));
    this.#deviceCookie = cookies[this.#name('known')] ?? '';
    this.#returnTo = cookies[this.#name('return')];
  }

  /** The signed-in user; undefined without a live session, or when the user is disabled. */
  async user(): Promise<User | undefined> {
    if (!this.#sessionId) return undefined;
    return this.#app.store.sessions.findUser(hashId(this.#sessionId), this.#app.now());
  }

  /**
   * Always under a new session id, against session fixation. False when the password that was checked is no longer the
   * user's.
   */
  async signIn(user: SignedInUser): Promise<boolean> {
    if (this.#sessionId) await this.#app.store.sessions.end(hashId(this.#sessionId));
    const id = newId();
    const now = this.#app.now();
    const created = await this.#app.store.sessions.create({
      idHash: hashId(id),
      userId: user.id,
      passwordHash: user.passwordHash,
      now,
      expiresAt: now + SESSION_TTL_MS,
      address: this.#request.ip,
      userAgent: this.#request.userAgent,
    });
    if (!created) return false;
    this.#setCookie('session', id, SESSION_TTL_MS);
    this.rememberDevice(user);
    return true;
  }

  /** Gives this browser its own login attempts at the account, until the password changes (device-cookie.ts). */
  rememberDevice(user: Omit<SignedInUser, 'id'>): void {
    const cookie = addAccount(this.#app.keys.pageSigner, this.#deviceCookie, user);
    this.#setCookie('known', cookie, DEVICE_TTL_MS);
  }

  /** Undefined when this browser never signed in with this email. */
  deviceFor(email: string): Device | undefined {
    return deviceFor(this.#app.keys.pageSigner, this.#deviceCookie, email);
  }

  /** Whether the device signed in with the password that the user has now. */
  isCurrentDevice(device: Device, user: User | undefined): boolean {
    return isCurrent(this.#app.keys.pageSigner, device, user);
  }

  /** The key of the session's row; empty without a session cookie. */
  get sessionHash(): string {
    return this.#sessionId ? hashId(this.#sessionId) : '';
  }

  /** Identifies a browser without a session; undefined before it was sent a form. */
  get browserIdHash(): string | undefined {
    return this.#browserId && hashId(this.#browserId);
  }

  /** The path to continue at once the new account is confirmed. */
  get returnTo(): string {
    return safeReturnTo(this.#returnTo);
  }

  keepReturnTo(path: string): void {
    const keep = path !== '/' && path.length <= MAX_RETURN_TO_LENGTH;
    if (keep || this.#returnTo !== undefined)
      this.#setCookie('return', keep ? path : '', keep ? undefined : 0);
  }

  async signOut(): Promise<void> {
    if (this.#sessionId) await this.#app.store.sessions.end(hashId(this.#sessionId));
    this.#setCookie('session', '', 0);
  }

  /** Bound to the session, or without one to a random id in a cookie of this browser. */
  csrfToken(): string {
    if (!this.#sessionId && !this.#browserId) {
      this.#browserId = newId();
      this.#setCookie('browser', this.#browserId);
    }
    return this.sign('form', '');
  }

  /** Fields of the posted form, empty for a GET; undefined when a POST has no valid CSRF token. */
  checkedForm(): ReadonlyMap<string, string> | undefined {
    if (this.#request.method !== 'POST') return NO_FIELDS;
    const form = formOf(this.#request);
    return this.hasValidCsrfToken(form) ? form : undefined;
  }

  /** A form that another site makes this browser send has neither the token nor the right Sec-Fetch-Site. */
  hasValidCsrfToken(form: ReadonlyMap<string, string>): boolean {
    return !this.isCrossSite() && this.verify('form', '', form.get('form_token') ?? '');
  }

  isCrossSite(): boolean {
    return this.#request.headers['sec-fetch-site'] === 'cross-site';
  }

  /** A signature that is valid only in this browser and session. */
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

  /** The Set-Cookie header of the response. */
  headers(): Record<string, string[]> {
    return this.#setCookies.length > 0 ? { 'set-cookie': this.#setCookies } : {};
  }

  /** Over https with the `__Host-` prefix: browsers then accept the cookie from this very host only (RFC 6265bis). */
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
