/**
 * The service against the model of model.ts: random sequences of operations by several clients and users, over real
 * HTTP and a real database. Each response is compared with the model's.
 *
 *   POSTERN_MODEL_OPS    number of operations, 3,000 by default; 100,000 for a night
 *   POSTERN_MODEL_SEED   seed of a run to repeat. Default: fixed for the short run, random where
 *                        POSTERN_MODEL_OPS is set. A failure prints the seed and the shortest sequence.
 */
import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { Sweeper } from '../../src/sweeper.ts';
import {
  authorizePath,
  DAY,
  HOUR,
  hiddenFields,
  MINUTE,
  newVerifier,
  type Reply,
  SECOND,
  Service,
  type Visitor,
} from '../support/service.ts';
import {
  type Code,
  type Expected,
  type Form,
  type Grant,
  Model,
  type ModelClient,
  type ModelUser,
  type RefreshToken,
} from './model.ts';

const OPERATIONS = Number(process.env.POSTERN_MODEL_OPS ?? 3_000);
const SEED = Number(
  process.env.POSTERN_MODEL_SEED ?? (process.env.POSTERN_MODEL_OPS ? Date.now() & 0x7fffffff : 20_300_101),
);

/** An index from the end of a list, so that recent items are used most. */
const which = fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(40) });
const rarely = <T extends string>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 25, arbitrary: fc.constant(usual) },
    { weight: others.length, arbitrary: fc.constantFrom(...others) },
  );

/** Plain objects, which print well. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(model, { noNullPrototype: true });

/** Errors in a client's credentials. */
const clientFlaw = rarely(
  'none',
  'other_client',
  'other_client',
  'other_client',
  'wrong_secret',
  'no_secret',
  'no_client',
  'unknown_client',
);

const operation = fc.oneof(
  // A code with its exchange, so that there are grants to work with.
  {
    weight: 4,
    arbitrary: record({ op: fc.constant('connect' as const), client: fc.nat(2), user: fc.nat(2) }),
  },
  {
    weight: 4,
    arbitrary: record({
      op: fc.constant('authorize' as const),
      client: fc.nat(2),
      user: fc.nat(2),
      uri: fc.nat(1),
      scope: fc.constantFrom(undefined, undefined, 'profile', 'email', 'email profile', 'profile unknown'),
      ticked: fc.boolean(),
      decision: rarely('allow', 'deny'),
    }),
  },
  {
    weight: 7,
    arbitrary: record({
      op: fc.constant('exchange' as const),
      state: fc.constantFrom('issued', 'issued', 'issued', 'used', 'any'),
      which,
      flaw: rarely(
        'none',
        'wrong_verifier',
        'no_verifier',
        'empty_verifier',
        'wrong_redirect_uri',
        'no_redirect_uri',
        'not_a_code',
      ),
      clientFlaw,
    }),
  },
  {
    weight: 16,
    arbitrary: record({
      op: fc.constant('refresh' as const),
      state: rarely('active', 'consumed', 'consumed', 'consumed', 'revoked', 'any', 'any'),
      which,
      flaw: rarely('none', 'not_a_refresh_token', 'garbage', 'empty', 'grant_type', 'no_grant_type'),
      scope: fc.constantFrom(undefined, undefined, 'profile', 'email', 'email profile', 'unknown'),
      clientFlaw,
    }),
  },
  {
    weight: 4,
    arbitrary: record({
      op: fc.constant('revoke' as const),
      kind: fc.constantFrom('refresh', 'refresh', 'access', 'access', 'code', 'garbage', 'empty'),
      which,
      hint: fc.constantFrom(undefined, 'access_token', 'refresh_token', 'something_else'),
      clientFlaw,
    }),
  },
  {
    weight: 6,
    arbitrary: record({
      op: fc.constant('userinfo' as const),
      kind: rarely('access', 'refresh', 'code', 'garbage'),
      which,
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      op: fc.constant('toggle' as const),
      kind: fc.constantFrom('client', 'user'),
      n: fc.nat(2),
      disabled: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 5,
    arbitrary: record({
      op: fc.constant('wait' as const),
      ms: fc.oneof(
        { weight: 6, arbitrary: fc.integer({ min: 1, max: 90 * SECOND }) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(5 * MINUTE, HOUR, 10 * HOUR, 29 * DAY, 30 * DAY, 31 * DAY),
        },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      op: fc.constant('edge' as const),
      kind: fc.constantFrom('code', 'refresh', 'access', 'window'),
      which,
      beside: fc.constantFrom(-1, 0, 0, 1),
    }),
  },
  // A rotation around the expiry of a code, then a replay of the code: the rarest edge case.
  {
    weight: 1,
    arbitrary: record({
      op: fc.constant('late_replay' as const),
      which: fc.nat(3),
      beside: fc.constantFrom(-1, 0, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      op: fc.constant('burst' as const),
      client: fc.nat(2),
      count: fc.integer({ min: 5, max: 32 }),
      endpoint: fc.constantFrom('token', 'revoke'),
    }),
  },
  { weight: 1, arbitrary: record({ op: fc.constant('sweep' as const) }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
type Of<Name extends Operation['op']> = Extract<Operation, { op: Name }>;

const USERS = 3;
/** A browser session lasts 14 days; it is renewed before that. */
const SIGN_IN_AGAIN = 13 * DAY;

/** The stored format of passwords with minimal work: users sign in often when months pass in minutes. */
function quickHash(password: string): string {
  const nonce = Buffer.alloc(16, 'salt');
  const parameters = { message: password, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 };
  const [salt, tag] = [nonce, argon2Sync('argon2id', parameters)].map((bytes) =>
    bytes.toString('base64').replaceAll('=', ''),
  );
  return `$argon2id$v=19$m=8,t=1,p=1$${salt}$${tag}`;
}

/** One running service. Runs share it and its users, and each has its own clients. */
class World {
  readonly limit: number;
  readonly service: Service;
  readonly users: ModelUser[] = [];
  readonly visitors: { visitor: Visitor; since: number }[] = [];

  private constructor(service: Service, limit: number) {
    this.service = service;
    this.limit = limit;
  }

  static async start(limit: number): Promise<World> {
    const world = new World(await Service.start({ POSTERN_RATE_LIMIT: String(limit) }), limit);
    for (let n = 0; n < USERS; n++) {
      const name = `User ${n}`;
      const createdAt = world.service.clock.ms;
      const user = await world.service.createUser(`user${n}@example.com`, name);
      await world.service.app.store.users.setPassword(user.id, quickHash(user.password), createdAt);
      world.users.push({ id: user.id, email: user.email, name, createdAt, disabled: false });
      world.visitors.push({ visitor: await world.service.signedIn(user), since: createdAt });
    }
    return world;
  }

  async newClients(): Promise<ModelClient[]> {
    const registered = [
      {
        uris: ['https://a.example/callback', 'https://a.example/other'],
        scope: 'profile email',
        optional: '',
      },
      {
        uris: ['https://b.example/callback', 'https://b.example/'],
        scope: 'profile email',
        optional: 'email',
      },
      { uris: ['https://c.example/?x=1', 'https://c.example/?x=2'], scope: 'profile', optional: 'profile' },
    ];
    return Promise.all(
      registered.map(async ({ uris, scope, optional }) => {
        const options = { redirectUris: uris, scope, optionalScope: optional };
        const { clientId, clientSecret } = await this.service.createClient(options);
        return {
          id: clientId,
          secret: clientSecret,
          redirectUris: uris,
          scope: scope.split(' '),
          optional: optional.split(' ').filter(Boolean),
          disabled: false,
        };
      }),
    );
  }

  async visitor(n: number): Promise<Visitor> {
    const known = this.visitors[n]!;
    if (this.service.clock.ms - known.since > SIGN_IN_AGAIN && !this.users[n]!.disabled) {
      await known.visitor.signIn();
      known.since = this.service.clock.ms;
    }
    return known.visitor;
  }
}

/** How often each outcome occurred: one that never did is untested. */
const met = new Map<string, number>();
const meet = (outcome: string) => met.set(outcome, (met.get(outcome) ?? 0) + 1);
let operations = 0;
/** From then on fast-check searches for a shorter failing sequence. */
let failed = false;

const fromEnd = <T>(list: readonly T[], n: number): T | undefined =>
  list[list.length - 1 - (n % list.length)];

class Run {
  readonly #world: World;
  readonly #service: Service;
  readonly #model: Model;
  /** Including those that the model has removed. */
  readonly #everyAccessToken: string[] = [];

  constructor(world: World, clients: readonly ModelClient[]) {
    this.#world = world;
    this.#service = world.service;
    this.#model = new Model(world.limit);
    this.#model.clients.push(...clients);
    this.#model.users.push(...world.users);
  }

  async perform(operation: Operation): Promise<void> {
    operations++;
    const clock = this.#service.clock;
    switch (operation.op) {
      case 'authorize':
        return this.#authorize(operation);
      case 'connect':
        await this.#authorize({
          ...operation,
          op: 'authorize',
          uri: 0,
          scope: undefined,
          ticked: true,
          decision: 'allow',
        });
        return this.#exchange({
          op: 'exchange',
          state: 'issued',
          which: 0,
          flaw: 'none',
          clientFlaw: 'none',
        });
      case 'exchange':
        return this.#exchange(operation);
      case 'refresh':
        return this.#refresh(operation);
      case 'revoke':
        return this.#revoke(operation);
      case 'userinfo':
        return this.#userinfo(operation);
      case 'toggle':
        return this.#toggle(operation);
      case 'wait':
        return clock.advance(operation.ms);
      case 'edge':
        return this.#edge(operation);
      case 'late_replay':
        return this.#lateReplay(operation);
      case 'burst':
        return this.#burst(operation);
      case 'sweep':
        return this.#sweep();
    }
  }

  /** Checks every access token ever issued, and enables all users and clients again. */
  async finish(): Promise<void> {
    for (const text of this.#everyAccessToken) await this.#probe(text);
    for (const user of this.#world.users) {
      user.disabled = false;
      await this.#service.app.store.users.setDisabled(user.id, false, this.#service.clock.ms);
    }
  }

  async #authorize(operation: Of<'authorize'>): Promise<void> {
    const client = this.#model.clients[operation.client]!;
    const user = this.#model.users[operation.user]!;
    const visitor = await this.#world.visitor(operation.user);
    const redirectUri = client.redirectUris[operation.uri]!;
    const verifier = newVerifier();
    const path = authorizePath({ clientId: client.id, clientSecret: '', redirectUri }, verifier, {
      ...(operation.scope !== undefined && { scope: operation.scope }),
    });
    const expected = this.#model.authorize(client, user, operation.scope, operation.decision);

    let response = await visitor.get(path);
    if (response.status === 200) {
      const ticks = Object.fromEntries(client.optional.map((name) => [`scope_${name}`, 'yes']));
      response = await visitor.post('/oauth/authorize', {
        ...hiddenFields(response.text),
        decision: operation.decision,
        ...(operation.ticked && ticks),
      });
    }
    assert.equal(whereTo(response, redirectUri), expected);
    meet(`authorize ${expected}`);
    if (expected !== 'code') return;
    const code = new URL(response.headers.get('location')!).searchParams.get('code')!;
    const asked = operation.scope?.split(' ') ?? client.scope;
    const scope = asked.filter((name) => operation.ticked || !client.optional.includes(name));
    const issued = { text: code, redirectUri, verifier };
    this.#model.consented({ client, user, scope }, issued, this.#service.clock.ms);
  }

  async #exchange({ state, which, flaw, clientFlaw }: Of<'exchange'>): Promise<void> {
    const codes = this.#model.codes.filter((code) => state === 'any' || code.state === state);
    const code = fromEnd(codes, which);
    if (!code) return;
    const form = this.#exchangeForm(code, clientFlaw);
    if (flaw === 'wrong_verifier') form.code_verifier = newVerifier();
    if (flaw === 'no_verifier') delete form.code_verifier;
    if (flaw === 'empty_verifier') form.code_verifier = '';
    if (flaw === 'wrong_redirect_uri')
      form.redirect_uri = code.grant.client.redirectUris.find((uri) => uri !== code.redirectUri)!;
    if (flaw === 'no_redirect_uri') delete form.redirect_uri;
    if (flaw === 'not_a_code') form.code = this.#another('refresh', which);
    const before = { alive: isLive(code.grant), bound: code.bindingKept, state: code.state };
    const expected = await this.#post('/oauth/token', form);
    if (before.state === 'used' && before.alive && expected.error === 'invalid_grant') {
      const spared = before.bound ? 'not quite right' : 'long after';
      meet(`exchange replayed, ${isLive(code.grant) ? spared : 'revoked'}`);
    } else meet(`exchange ${expected.error ?? expected.status}`);
    await this.#look(code.grant);
  }

  async #refresh({ state, which, flaw, scope, clientFlaw }: Of<'refresh'>): Promise<void> {
    const token = fromEnd(
      this.#model.refreshTokens.filter((one) => state === 'any' || one.state === state),
      which,
    );
    if (!token) return;
    const form = this.#refreshForm(token, clientFlaw);
    if (scope !== undefined) form.scope = scope;
    if (flaw === 'not_a_refresh_token')
      form.refresh_token = this.#another(which % 2 === 0 ? 'access' : 'code', which);
    if (flaw === 'garbage') form.refresh_token = this.#garbage(which);
    if (flaw === 'empty') form.refresh_token = '';
    if (flaw === 'grant_type') form.grant_type = 'password';
    if (flaw === 'no_grant_type') delete form.grant_type;
    const expected = await this.#post('/oauth/token', form);
    const narrowed =
      expected.scope !== undefined && expected.scope.split(' ').length < token.grant.scope.length;
    meet(`refresh ${expected.reused ? 'reused' : narrowed ? 'narrowed' : (expected.error ?? 200)}`);
    await this.#look(token.grant);
  }

  async #revoke({ kind, which, hint, clientFlaw }: Of<'revoke'>): Promise<void> {
    const text =
      kind === 'garbage' ? this.#garbage(which) : kind === 'empty' ? '' : this.#another(kind, which);
    const { refreshTokens, accessTokens } = this.#model;
    const grant = [...refreshTokens, ...accessTokens].find((one) => one.text === text)?.grant;
    const form = {
      token: text,
      ...(hint && { token_type_hint: hint }),
      ...this.#credentials(grant?.client ?? this.#model.clients[0]!, clientFlaw),
    };
    const expected = await this.#post('/oauth/revoke', form);
    meet(`revoke ${kind} ${expected.error ?? 200}`);
    if (grant) await this.#look(grant);
  }

  async #userinfo({ kind, which }: Of<'userinfo'>): Promise<void> {
    await this.#probe(kind === 'garbage' ? this.#garbage(which) : this.#another(kind, which));
  }

  async #toggle({ kind, n, disabled }: Of<'toggle'>): Promise<void> {
    const { users, applications } = this.#service.app.store;
    const now = this.#service.clock.ms;
    const one = kind === 'client' ? this.#model.clients[n]! : this.#model.users[n]!;
    one.disabled = disabled;
    if (kind === 'client') await applications.setDisabled(one.id, one.disabled, now);
    else await users.setDisabled(one.id, one.disabled, now);
  }

  /** Moves the clock to an expiry, or just beside it, and uses the expiring credential. */
  async #edge({ kind, which, beside }: Of<'edge'>): Promise<void> {
    const { clock } = this.#service;
    const next = <T extends { expiresAt: number }>(list: readonly T[]): T | undefined => {
      const one = fromEnd(
        list.filter(({ expiresAt }) => expiresAt > clock.ms),
        which,
      );
      if (one) clock.ms = one.expiresAt + beside;
      return one;
    };
    const { codes, refreshTokens, accessTokens } = this.#model;
    if (kind === 'code') {
      const code = next(codes.filter(({ state }) => state === 'issued'));
      if (!code) return;
      await this.#post('/oauth/token', this.#exchangeForm(code));
      return this.#look(code.grant);
    }
    if (kind === 'refresh') {
      const token = next(refreshTokens.filter(({ state }) => state === 'active'));
      if (!token) return;
      await this.#post('/oauth/token', this.#refreshForm(token));
      return this.#look(token.grant);
    }
    if (kind === 'access') {
      const token = next(accessTokens.filter(({ state }) => state === 'active'));
      return token && this.#probe(token.text);
    }
    const { id } = this.#model.clients[which % 3]!;
    const end = this.#model.windowEnd(id);
    if (end > clock.ms) clock.ms = end + beside;
    await this.#post('/oauth/revoke', { token: 'garbage', client_id: id });
  }

  async #lateReplay({ which, beside }: Of<'late_replay'>): Promise<void> {
    const { clock } = this.#service;
    const codes = this.#model.codes.filter(
      ({ state, expiresAt, grant }) => state === 'used' && expiresAt > clock.ms && isLive(grant),
    );
    const code = fromEnd(codes, which);
    const token = code?.grant.refreshTokens.at(-1);
    if (!code || !token) return;
    clock.ms = code.expiresAt + beside;
    await this.#post('/oauth/token', this.#refreshForm(token));
    await this.#post('/oauth/token', this.#exchangeForm(code));
    operations++;
    meet(`late replay ${isLive(code.grant) ? 'spared' : 'revoked'}`);
    await this.#look(code.grant);
  }

  async #burst({ client, count, endpoint }: Of<'burst'>): Promise<void> {
    const credentials = this.#credentials(this.#model.clients[client]!, 'none');
    for (let n = 0; n < count; n++) {
      const form =
        endpoint === 'token'
          ? { grant_type: 'refresh_token', refresh_token: 'garbage', ...credentials }
          : { token: 'garbage', ...credentials };
      const expected = await this.#post(`/oauth/${endpoint}`, form);
      if (expected.status === 429) meet('burst limited');
    }
    operations += count - 1;
  }

  /** Sweeps all grants, as the service does step by step. */
  async #sweep(): Promise<void> {
    const before = this.#model.refreshTokens.length;
    const sweeper = new Sweeper(this.#service.app);
    while (!(await sweeper.step()));
    this.#model.sweep(this.#service.clock.ms);
    if (this.#model.refreshTokens.length < before) meet('sweep removed a grant');
  }

  /** Sends a form to the service and to the model, and compares the responses. */
  async #post(path: '/oauth/token' | '/oauth/revoke', form: Form): Promise<Expected> {
    const now = this.#service.clock.ms;
    const expected = path === '/oauth/token' ? this.#model.token(form, now) : this.#model.revoke(form, now);
    const response = await this.#service.post(path, form);
    const { learn, ...visible } = expected;
    assert.deepEqual(seen(response), { ...visible, ...(expected.limit && { outOf: this.#world.limit }) });
    if (path === '/oauth/revoke' && response.status === 200) assert.equal(response.text, '{"revoked":true}');
    if (response.status === 429)
      assert.equal(response.headers.get('retry-after'), response.headers.get('ratelimit-reset'));
    if (!learn) return expected;
    const { access_token, refresh_token, token_type, expires_in } = response.body;
    assert.deepEqual([token_type, expires_in], ['Bearer', 3600]);
    learn(access_token as string, refresh_token as string);
    this.#everyAccessToken.push(access_token as string);
    return expected;
  }

  /** Checks the state of a grant at once, before it expires, with its last two access tokens. */
  async #look({ accessTokens }: Grant): Promise<void> {
    for (const { text } of accessTokens.slice(-2)) await this.#probe(text);
  }

  async #probe(text: string): Promise<void> {
    const expected = this.#model.userinfo(text, this.#service.clock.ms);
    const response = await this.#service.userinfo(text);
    const { status, body } = response;
    if (expected) assert.deepEqual({ status, body }, { status: 200, body: expected });
    else assert.deepEqual({ status, error: body.error }, { status: 401, error: 'invalid_token' });
    meet(`userinfo ${status}`);
  }

  #exchangeForm(code: Code, clientFlaw = 'none'): Record<string, string> {
    return {
      grant_type: 'authorization_code',
      code: code.text,
      redirect_uri: code.redirectUri,
      code_verifier: code.verifier,
      ...this.#credentials(code.grant.client, clientFlaw),
    };
  }

  #refreshForm(token: RefreshToken, clientFlaw = 'none'): Record<string, string> {
    const credentials = this.#credentials(token.grant.client, clientFlaw);
    return { grant_type: 'refresh_token', refresh_token: token.text, ...credentials };
  }

  #credentials(client: ModelClient, flaw: string): Record<string, string> {
    const other = this.#model.clients.find((one) => one !== client)!;
    switch (flaw) {
      case 'other_client':
        return { client_id: other.id, client_secret: other.secret };
      case 'wrong_secret':
        return { client_id: client.id, client_secret: other.secret };
      case 'no_secret':
        return { client_id: client.id };
      case 'no_client':
        return { client_secret: client.secret };
      case 'unknown_client':
        return { client_id: `${client.id}x`, client_secret: client.secret };
      default:
        return { client_id: client.id, client_secret: client.secret };
    }
  }

  #another(kind: string, which: number): string {
    const { codes, refreshTokens, accessTokens } = this.#model;
    const list = kind === 'code' ? codes : kind === 'refresh' ? refreshTokens : accessTokens;
    return fromEnd<{ text: string }>(list, which)?.text ?? 'none';
  }

  /** Plain garbage, or a real token with one changed character. */
  #garbage(which: number): string {
    const real = this.#another('refresh', which);
    const index = real.length - 1 - (which % 20);
    const changed = real[index] === 'A' ? 'B' : 'A';
    return which % 3 === 0 ? 'garbage' : real.slice(0, index) + changed + real.slice(index + 1);
  }
}

const isLive = (grant: { accessTokens: readonly { state: string }[] }): boolean =>
  grant.accessTokens.some(({ state }) => state === 'active');

/** A response in the terms of the model. */
function seen({ status, headers, body }: Reply) {
  const limit = headers.get('ratelimit-limit');
  return {
    status,
    ...(status !== 200 && { error: body.error }),
    ...(/refresh token was already used/.test(String(body.error_description)) && { reused: true }),
    ...('scope' in body && { scope: body.scope }),
    ...(limit !== null && {
      outOf: Number(limit),
      limit: {
        remaining: Number(headers.get('ratelimit-remaining')),
        reset: Number(headers.get('ratelimit-reset')),
      },
    }),
  };
}

function whereTo(response: Reply, redirectUri: string): string {
  const location = response.headers.get('location');
  if (location === null) return response.status === 400 ? 'page' : `status ${response.status}`;
  if (location.startsWith('/login?')) return 'login';
  if (!location.startsWith(redirectUri)) return `elsewhere: ${location}`;
  const parameters = new URL(location).searchParams;
  return parameters.get('error') ?? (parameters.has('code') ? 'code' : 'nothing');
}

/** The default rate limit, which blocks most requests, and one that is never reached. */
const LIMITS = [30, 1_000_000];
let worlds: World[] = [];
before(async () => {
  worlds = await Promise.all(LIMITS.map((limit) => World.start(limit)));
});
after(async () => {
  for (const { service } of worlds) await service.stop();
});

const OUTCOMES = [
  ...['code', 'access_denied', 'invalid_scope', 'login', 'page'].map((it) => `authorize ${it}`),
  ...['200', 'invalid_grant', 'invalid_client', 'invalid_request', 'rate_limit_exceeded'].map(
    (it) => `exchange ${it}`,
  ),
  ...['revoked', 'not quite right', 'long after'].map((it) => `exchange replayed, ${it}`),
  ...['200', 'narrowed', 'reused', 'invalid_grant', 'invalid_scope', 'invalid_client'].map(
    (it) => `refresh ${it}`,
  ),
  ...['invalid_request', 'unsupported_grant_type', 'rate_limit_exceeded'].map((it) => `refresh ${it}`),
  ...['refresh 200', 'access 200', 'code 200', 'garbage 200', 'empty invalid_request'].map(
    (it) => `revoke ${it}`,
  ),
  ...['late replay spared', 'late replay revoked'],
  ...['userinfo 200', 'userinfo 401', 'burst limited', 'sweep removed a grant'],
];

test(`the service and the model agree over ${OPERATIONS} operations`, async (t) => {
  const property = fc.asyncProperty(
    fc.nat(LIMITS.length - 1),
    fc.array(operation, { minLength: 1, maxLength: 200, size: 'max' }),
    async (world, sequence) => {
      if (operations >= OPERATIONS && !failed) return;
      const at = worlds[world]!;
      at.service.logged.length = 0;
      const run = new Run(at, await at.newClients());
      try {
        for (const operation of sequence) await run.perform(operation);
      } catch (error) {
        failed = true;
        throw error;
      } finally {
        await run.finish();
      }
    },
  );
  await fc.assert(property, {
    seed: SEED,
    numRuns: Math.ceil(OPERATIONS / 20),
    // Far longer than a run: bounds the search for a shorter sequence after a failure.
    interruptAfterTimeLimit: 120_000 + 20 * OPERATIONS,
  });
  t.diagnostic(`${operations} operations, seed ${SEED}`);
  t.diagnostic(
    [...met]
      .sort()
      .map(([outcome, times]) => `${outcome}: ${times}`)
      .join(', '),
  );
  assert.ok(operations >= OPERATIONS, `only ${operations} operations were run`);
  assert.deepEqual(
    OUTCOMES.filter((outcome) => !met.has(outcome)),
    [],
  );
});
