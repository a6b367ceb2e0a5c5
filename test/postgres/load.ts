import { newId } from '../../src/protocol/credentials.ts';
import {
  challengeOf,
  HOUR,
  type IssuedCode,
  newVerifier,
  type Reply,
  type Service,
  type TestClient,
  type Tokens,
} from '../support/service.ts';
import type { Event } from './history.ts';

type Outcome = Pick<Event, 'outcome' | 'issued'>;

/** Clients that use the service as clients do, some of them badly, and write down all that happens. */
export class Load {
  readonly history: Event[] = [];
  /** The longest that anybody waited for an answer, in milliseconds. */
  slowest = 0;
  readonly #nodes: readonly Service[];
  readonly #client: TestClient;
  readonly #codes: IssuedCode[];
  #stopped = false;
  #clients: Promise<void>[] = [];

  private constructor(nodes: readonly Service[], client: TestClient, codes: IssuedCode[]) {
    this.#nodes = nodes;
    this.#client = client;
    this.#codes = codes;
  }

  /** The codes are made beforehand, while nothing is broken. */
  static async prepare(nodes: readonly Service[], families: number): Promise<Load> {
    const [node] = nodes;
    const client = await node!.createClient();
    const user = await node!.createUser();
    const codes: IssuedCode[] = [];
    while (codes.length < families) {
      const some = Array.from({ length: 50 }, () => issueCode(node!, client, user.id));
      codes.push(...(await Promise.all(some)));
    }
    return new Load(nodes, client, codes);
  }

  start(clients: number): void {
    this.#clients = Array.from({ length: clients }, () => this.#beClient());
  }

  async stop(): Promise<Event[]> {
    this.#stopped = true;
    await Promise.all(this.#clients);
    return this.history;
  }

  /** How many of the requests sent since `from` (performance.now()) came to each outcome. */
  outcomesSince(from: number): Record<string, number> {
    const outcomes: Record<string, number> = {};
    for (const event of this.history)
      if (event.from >= from) outcomes[event.outcome] = (outcomes[event.outcome] ?? 0) + 1;
    return outcomes;
  }

  async #beClient(): Promise<void> {
    while (!this.#stopped) {
      const issued = this.#codes.pop();
      if (!issued) return;
      const family = `family ${this.#codes.length}`;
      const tokens = await this.#insist(() => this.#exchange(family, issued));
      if (tokens) await this.#live(family, tokens);
    }
  }

  /** One session's life: mostly renewing, now and then a look at the profile, reuse, a race, a revocation. */
  async #live(family: string, first: NonNullable<Event['issued']>): Promise<void> {
    let tokens = first;
    let consumed: string | undefined;
    for (let step = 0; step < 40 && !this.#stopped; step++) {
      const dice = Math.random();
      const { refreshToken, accessToken } = tokens;
      if (dice < 0.2) {
        await this.#userinfo(family, accessToken);
        continue;
      }
      if (dice < 0.22 && consumed) await this.#refresh(family, consumed);
      if (dice < 0.24) await this.#revoke(family, refreshToken);
      const renewed =
        dice < 0.27
          ? await this.#race(family, refreshToken)
          : await this.#insist(() => this.#refresh(family, refreshToken));
      if (!renewed) return;
      consumed = refreshToken;
      tokens = renewed;
    }
  }

  /** Tries again while the outcome is unknown, as a client does that was answered with a server error. */
  async #insist(attempt: () => Promise<Outcome>): Promise<Event['issued']> {
    for (let tries = 0; tries < 20 && !this.#stopped; tries++) {
      const { outcome, issued } = await attempt();
      if (outcome !== 'unknown') return issued;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return undefined;
  }

  async #race(family: string, refreshToken: string): Promise<Event['issued']> {
    const both = await Promise.all([1, 2].map(() => this.#refresh(family, refreshToken)));
    return both.find(({ issued }) => issued)?.issued;
  }

  #exchange(family: string, issued: IssuedCode): Promise<Outcome> {
    return this.#note('exchange', family, issued.code, (node) => node.exchange(this.#client, issued));
  }

  #refresh(family: string, token: string): Promise<Outcome> {
    return this.#note('refresh', family, token, (node) => node.refresh(this.#client, token));
  }

  #revoke(family: string, token: string): Promise<Outcome> {
    return this.#note('revoke', family, token, (node) => node.revoke(this.#client, token));
  }

  #userinfo(family: string, token: string): Promise<Outcome> {
    return this.#note('userinfo', family, token, (node) => node.userinfo(token));
  }

  async #note(
    kind: Event['kind'],
    family: string,
    credential: string,
    send: (node: Service) => Promise<Reply>,
  ): Promise<Outcome> {
    const node = this.#nodes[Math.floor(Math.random() * this.#nodes.length)]!;
    const from = performance.now();
    const outcome = outcomeOf(kind, await send(node));
    const to = performance.now();
    this.slowest = Math.max(this.slowest, to - from);
    this.history.push({ kind, family, credential, from, to, ...outcome });
    return outcome;
  }
}

function outcomeOf(kind: Event['kind'], { status, body, text }: Reply): Outcome {
  if (status === 500 || status === 503) return { outcome: 'unknown' };
  if (status === 200) {
    const { access_token: accessToken, refresh_token: refreshToken } = body as Tokens;
    const issues = kind === 'exchange' || kind === 'refresh';
    return issues ? { outcome: 'success', issued: { accessToken, refreshToken } } : { outcome: 'success' };
  }
  if (status === 401 && body.error === 'invalid_token') return { outcome: 'refused' };
  if (status === 400 && body.error === 'invalid_grant')
    return { outcome: /already used/.test(String(body.error_description)) ? 'reused' : 'refused' };
  throw new Error(`an answer that should not be: ${status} ${text}`);
}

/** A code as the consent screen issues it. */
export async function issueCode(node: Service, client: TestClient, userId: string): Promise<IssuedCode> {
  const verifier = newVerifier();
  const grantId = newId();
  const now = node.clock.ms;
  await node.app.store.grants.create({
    userId,
    grantId,
    clientId: client.clientId,
    scope: 3,
    redirectUri: client.redirectUri,
    codeChallenge: challengeOf(verifier),
    now,
    expiresAt: now + HOUR,
  });
  return { code: node.app.keys.tokenSigner.signCode({ userId, grantId, generation: 0 }), verifier };
}
