/**
 * The protocol as the specification tells it, in plain objects: codes, and families as lists of
 * the tokens that were ever issued in them, each with a state. Nothing here is shared with src/ and
 * nothing is done the way it is done there (no generations, no sealing, no SQL), so that the two
 * can only agree by both being right.
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

export type Family = {
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
  /** What it was bound to is forgotten by a rotation after its five minutes: then a replay cuts nothing. */
  bindingKept: boolean;
};
type Token = { text: string; family: Family; expiresAt: number };
export type RefreshToken = Token & { state: 'active' | 'consumed' | 'revoked' };
export type AccessToken = Token & { state: 'active' | 'revoked'; scope: string[] };

export type Form = Readonly<Record<string, string>>;
/** What an answer must look like. `learn` takes in the tokens of an answer that issued some. */
export type Expected = {
  status: number;
  error?: string;
  /** The message says that the refresh token was already used. */
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

  /** What the browser of a signed-in user gets: a code, an error for the client, a page or the sign-in form. */
  authorize(client: ModelClient, user: ModelUser, asked: string | undefined, decision: string): string {
    if (client.disabled) return 'page';
    const scope = asked === undefined ? client.scope : words(asked);
    if (scope.some((name) => !client.scope.includes(name))) return 'invalid_scope';
    if (user.disabled) return 'login';
    return decision === 'allow' ? 'code' : 'access_denied';
  }

  consented(
    grant: Pick<Family, 'client' | 'user' | 'scope'>,
    issued: Pick<Code, 'text' | 'redirectUri' | 'verifier'>,
    now: number,
  ): void {
    const family: Partial<Family> = { ...grant, refreshTokens: [], accessTokens: [] };
    const fresh = { state: 'issued', bindingKept: true, expiresAt: now + CODE_LIFE } as const;
    family.code = { ...issued, ...fresh, family: family as Family };
    this.codes.push(family.code);
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
    const act = (client: ModelClient) => {
      const refreshToken = this.refreshTokens.find(({ text }) => text === form.token);
      if (refreshToken?.family.client === client) cut(refreshToken.family);
      const accessToken = this.accessTokens.find(({ text }) => text === form.token);
      if (accessToken?.family.client === client) accessToken.state = 'revoked';
      return { status: 200 };
    };
    return this.#counted(form, now, () => this.#asClient(form, ['token'], act));
  }

  /** The profile behind an access token, or undefined where the answer is 401 invalid_token. */
  userinfo(text: string, now: number): Record<string, unknown> | undefined {
    const token = this.accessTokens.find((one) => one.text === text);
    if (token?.state !== 'active' || now >= token.expiresAt) return undefined;
    const { user, client } = token.family;
    if (user.disabled || client.disabled) return undefined;
    const profile = { name: user.name, updated_at: Math.floor(user.createdAt / SECOND) };
    return {
      sub: user.id,
      ...(token.scope.includes('profile') && profile),
      ...(token.scope.includes('email') && { email: user.email, email_verified: true }),
    };
  }

  /** A family is forgotten an hour after its last refresh token expired: what is left of it is then unknown. */
  sweep(now: number): void {
    const gone = ({ family: { code, refreshTokens } }: { family: Family }) =>
      (refreshTokens.at(-1) ?? code).expiresAt + ACCESS_LIFE <= now;
    this.codes = this.codes.filter((code) => !gone(code));
    this.refreshTokens = this.refreshTokens.filter((token) => !gone(token));
    this.accessTokens = this.accessTokens.filter((token) => !gone(token));
  }

  /** When the client's window of the rate limit ends; the past when there is none. */
  windowEnd(clientId: string): number {
    return (this.#windows.get(clientId)?.start ?? 0) + WINDOW;
  }

  #counted(form: Form, now: number, act: () => Expected): Expected {
    if (!form.client_id) return act();
    let window = this.#windows.get(form.client_id);
    if (!window || now >= window.start + WINDOW) window = { start: now, count: 0 };
    this.#windows.set(form.client_id, window);
    window.count++;
    const remaining = Math.max(0, this.#limit - window.count);
    const limit = { remaining, reset: Math.ceil((window.start + WINDOW - now) / SECOND) };
    return { ...(window.count > this.#limit ? refuse('rate_limit_exceeded', 429) : act()), limit };
  }

  #asClient(form: Form, required: string[], act: (client: ModelClient) => Expected): Expected {
    const missing = [...required, 'client_id', 'client_secret'].some((name) => !form[name]);
    if (missing) return refuse('invalid_request');
    const client = this.clients.find(({ id }) => id === form.client_id);
    const proven = client?.secret === form.client_secret && !client?.disabled;
    return client && proven ? act(client) : refuse('invalid_client', 401);
  }

  #exchange(client: ModelClient, form: Form, now: number): Expected {
    const code = this.codes.find(({ text }) => text === form.code);
    if (!code) return refuse('invalid_grant');
    const { family, redirectUri, verifier } = code;
    const matches =
      family.client === client && redirectUri === form.redirect_uri && verifier === form.code_verifier;
    if (code.state === 'used' && matches && code.bindingKept) cut(family);
    if (code.state === 'used' || !matches || now >= code.expiresAt || family.user.disabled)
      return refuse('invalid_grant');
    code.state = 'used';
    return this.#issue(family, family.scope, now);
  }

  #refresh(client: ModelClient, form: Form, now: number): Expected {
    const token = this.refreshTokens.find(({ text }) => text === form.refresh_token);
    if (!token) return refuse('invalid_grant');
    const { family } = token;
    if (token.state === 'consumed') {
      cut(family);
      return { ...refuse('invalid_grant'), reused: true };
    }
    const active = token.state === 'active' && now < token.expiresAt && !family.user.disabled;
    if (family.client !== client || !active) return refuse('invalid_grant');
    const asked = form.scope ? words(form.scope) : family.scope;
    if (asked.some((name) => !family.scope.includes(name))) return refuse('invalid_scope');
    token.state = 'consumed';
    if (now >= family.code.expiresAt) family.code.bindingKept = false;
    return this.#issue(family, asked, now);
  }

  #issue(family: Family, asked: readonly string[], now: number): Expected {
    const scope = SCOPES.filter((name) => asked.includes(name));
    const learn = (access: string, refresh: string) => {
      const active = { family, state: 'active' } as const;
      const accessToken = { ...active, text: access, scope, expiresAt: now + ACCESS_LIFE };
      const refreshToken = { ...active, text: refresh, expiresAt: now + REFRESH_LIFE };
      for (const list of [family.accessTokens, this.accessTokens]) list.push(accessToken);
      for (const list of [family.refreshTokens, this.refreshTokens]) list.push(refreshToken);
    };
    return { status: 200, scope: scope.join(' '), learn };
  }
}

/** Every token of the family becomes invalid. A consumed one stays known as consumed. */
function cut(family: Family): void {
  for (const token of family.refreshTokens) if (token.state === 'active') token.state = 'revoked';
  for (const token of family.accessTokens) token.state = 'revoked';
}
