/**
 * The protocol of docs/protocol.md in plain objects: codes, and grants as lists of all tokens ever issued, each with
 * a state. It shares no code and no method with src/ (no generations, no signatures, no SQL), so the two agree only
 * if both are correct.
 */
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const CODE_LIFE = 5 * MINUTE;
const ACCESS_LIFE = HOUR;
const REFRESH_LIFE = 30 * 24 * HOUR;
const WINDOW = MINUTE;

const SCOPES = ['profile', 'email'];

export type ModelClient = {
  id: string;
  secret: string;
  redirectUris: string[];
  scope: string[];
  optional: string[];
  disabled: boolean;
};
export type ModelUser = { id: string; email: string; name: string; createdAt: number; disabled: boolean };

export type Grant = {
  client: ModelClient;
  user: ModelUser;
  scope: string[];
  code: Code;
  refreshTokens: RefreshToken[];
  accessTokens: AccessToken[];
};
export type Code = Token & {
  verifier: string;
  redirectUri: string;
  state: 'issued' | 'used';
  /** False after a rotation past its expiry, which forgets the binding: a replay then revokes nothing. */
  bindingKept: boolean;
};
type Token = { text: string; grant: Grant; expiresAt: number };
export type RefreshToken = Token & { state: 'active' | 'consumed' | 'revoked' };
type AccessToken = Token & { state: 'active' | 'revoked'; scope: string[] };

export type Form = Readonly<Record<string, string>>;
/** The expected response. `learn` adds the tokens that it issued to the model. */
export type Expected = {
  status: number;
  error?: string;
  /** The description says that the refresh token was already used. */
  reused?: true;
  scope?: string;
  limit?: { remaining: number; reset: number };
  learn?: (accessToken: string, refreshToken: string) => void;
};

const refuse = (error: string, status = 400): Expected => ({ status, error });
const words = (text: string): string[] => text.split(' ').filter(Boolean);

export class Model {
  readonly clients: ModelClient[] = [];
  readonly users: ModelUser[] = [];
  codes: Code[] = [];
  refreshTokens: RefreshToken[] = [];
  accessTokens: AccessToken[] = [];
  readonly #limit: number;
  readonly #windows = new Map<string, { start: number; count: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The result in the browser of a signed-in user: a code, an error redirect, a page or the sign-in form. */
  authorize(client: ModelClient, user: ModelUser, requested: string | undefined, decision: string): string {
    if (client.disabled) return 'page';
    const scope = requested === undefined ? client.scope : words(requested);
    if (user.disabled) return 'login';
    if (scope.some((name) => !client.scope.includes(name))) return 'invalid_scope';
    return decision === 'allow' ? 'code' : 'access_denied';
  }

  consented(
    consent: Pick<Grant, 'client' | 'user' | 'scope'>,
    issued: Pick<Code, 'text' | 'redirectUri' | 'verifier'>,
    now: number,
  ): void {
    const grant: Partial<Grant> = { ...consent, refreshTokens: [], accessTokens: [] };
    const fresh = { state: 'issued', bindingKept: true, expiresAt: now + CODE_LIFE } as const;
    grant.code = { ...issued, ...fresh, grant: grant as Grant };
    this.codes.push(grant.code);
  }

  token(form: Form, now: number): Expected {
    return this.#counted(form, now, () => {
      switch (form.grant_type || undefined) {
        case undefined:
          return refuse('invalid_request');
        case 'authorization_code':
          return this.#asClient(form, ['code', 'redirect_uri'], (it) => this.#exchange(it, form, now));
        case 'refresh_token':
          return this.#asClient(form, ['refresh_token'], (it) => this.#refresh(it, form, now));
        default:
          return refuse('unsupported_grant_type');
      }
    });
  }

  revoke(form: Form, now: number): Expected {
    const handle = (client: ModelClient) => {
      const refreshToken = this.refreshTokens.find(({ text }) => text === form.token);
      if (refreshToken?.grant.client === client) revokeGrant(refreshToken.grant);
      const accessToken = this.accessTokens.find(({ text }) => text === form.token);
      if (accessToken?.grant.client === client) accessToken.state = 'revoked';
      return { status: 200 };
    };
    return this.#counted(form, now, () => this.#asClient(form, ['token'], handle));
  }

  /** The claims of an access token, or undefined for 401 invalid_token. */
  userinfo(text: string, now: number): Record<string, unknown> | undefined {
    const token = this.accessTokens.find((one) => one.text === text);
    if (token?.state !== 'active' || now >= token.expiresAt) return undefined;
    const { user, client } = token.grant;
    if (user.disabled || client.disabled) return undefined;
    const profile = { name: user.name, updated_at: Math.floor(user.createdAt / SECOND) };
    return {
      sub: user.id,
      ...(token.scope.includes('profile') && profile),
      ...(token.scope.includes('email') && { email: user.email, email_verified: true }),
    };
  }

  /** A grant is removed an hour after its last refresh token expired; its credentials are then unknown. */
  sweep(now: number): void {
    const gone = ({ grant: { code, refreshTokens } }: { grant: Grant }) =>
      (refreshTokens.at(-1) ?? code).expiresAt + ACCESS_LIFE <= now;
    this.codes = this.codes.filter((code) => !gone(code));
    this.refreshTokens = this.refreshTokens.filter((token) => !gone(token));
    this.accessTokens = this.accessTokens.filter((token) => !gone(token));
  }

  /** The end of the client's rate-limit window; in the past when there is none. */
  windowEnd(clientId: string): number {
    return (this.#windows.get(clientId)?.start ?? 0) + WINDOW;
  }

  #counted(form: Form, now: number, handle: () => Expected): Expected {
    if (!form.client_id) return handle();
    let window = this.#windows.get(form.client_id);
    if (!window || now >= window.start + WINDOW) window = { start: now, count: 0 };
    this.#windows.set(form.client_id, window);
    window.count++;
    const remaining = Math.max(0, this.#limit - window.count);
    const limit = { remaining, reset: Math.ceil((window.start + WINDOW - now) / SECOND) };
    return { ...(window.count > this.#limit ? refuse('rate_limit_exceeded', 429) : handle()), limit };
  }

  #asClient(form: Form, required: string[], handle: (client: ModelClient) => Expected): Expected {
    const missing = [...required, 'client_id', 'client_secret'].some((name) => !form[name]);
    if (missing) return refuse('invalid_request');
    const client = this.clients.find(({ id }) => id === form.client_id);
    const authenticated = client?.secret === form.client_secret && !client?.disabled;
    return client && authenticated ? handle(client) : refuse('invalid_client', 401);
  }

  #exchange(client: ModelClient, form: Form, now: number): Expected {
    const code = this.codes.find(({ text }) => text === form.code);
    if (!code) return refuse('invalid_grant');
    const { grant, redirectUri, verifier } = code;
    const matches =
      grant.client === client && redirectUri === form.redirect_uri && verifier === form.code_verifier;
    if (code.state === 'used' && matches && code.bindingKept) revokeGrant(grant);
    if (code.state === 'used' || !matches || now >= code.expiresAt || grant.user.disabled)
      return refuse('invalid_grant');
    code.state = 'used';
    return this.#issue(grant, grant.scope, now);
  }

  #refresh(client: ModelClient, form: Form, now: number): Expected {
    const token = this.refreshTokens.find(({ text }) => text === form.refresh_token);
    if (!token) return refuse('invalid_grant');
    const { grant } = token;
    if (token.state === 'consumed') {
      revokeGrant(grant);
      return { ...refuse('invalid_grant'), reused: true };
    }
    const active = token.state === 'active' && now < token.expiresAt && !grant.user.disabled;
    if (grant.client !== client || !active) return refuse('invalid_grant');
    const requested = form.scope ? words(form.scope) : grant.scope;
    if (requested.some((name) => !grant.scope.includes(name))) return refuse('invalid_scope');
    token.state = 'consumed';
    if (now >= grant.code.expiresAt) grant.code.bindingKept = false;
    return this.#issue(grant, requested, now);
  }

  #issue(grant: Grant, requested: readonly string[], now: number): Expected {
    const scope = SCOPES.filter((name) => requested.includes(name));
    const learn = (access: string, refresh: string) => {
      const active = { grant, state: 'active' } as const;
      const accessToken = { ...active, text: access, scope, expiresAt: now + ACCESS_LIFE };
      const refreshToken = { ...active, text: refresh, expiresAt: now + REFRESH_LIFE };
      for (const list of [grant.accessTokens, this.accessTokens]) list.push(accessToken);
      for (const list of [grant.refreshTokens, this.refreshTokens]) list.push(refreshToken);
    };
    return { status: 200, scope: scope.join(' '), learn };
  }
}

/** Makes every token of the grant invalid. A used refresh token stays recognizable as used. */
function revokeGrant(grant: Grant): void {
  for (const token of grant.refreshTokens) if (token.state === 'active') token.state = 'revoked';
  for (const token of grant.accessTokens) token.state = 'revoked';
}
