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

/** Clients that use the service, some of them wrongly, and record everything that happens. */
export class Load {
  readonly history: Event[] = [];
  /** The longest time until a response, in milliseconds. */
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

  /** Issues the codes beforehand, while nothing is broken. */
  static async prepare(nodes: readonly Service[], grants: number): Promise<Load> {
    const [node] = nodes;
    const client = await node!.createClient();
    const codes: IssuedCode[] = [];
    while (codes.length < grants) {
      const user = await node!.createUser();
      const some = Array.from({ length: 50 }, () => issueCode(node!, client, user.id));
      codes.push(...(await Promise.all(some)));
    }
    return new Load(nodes, client, codes);
  }

  start(clients: number): void {
    this.#clients = Array.from({ length: clients }, () => this.#runClient());
  }

  async stop(): Promise<Event[]> {
    this.#stopped = true;
    await Promise.all(this.#clients);
    return this.history;
  }

  /** The number of requests sent since `from` (performance.now()), by outcome. */
  outcomesSince(from: number): Record<string, number> {
    const outcomes: Record<string, number> = {};
    for (const event of this.history)
      if (event.from >= from) outcomes[event.outcome] = (outcomes[event.outcome] ?? 0) + 1;
    return outcomes;
  }

  async #runClient(): Promise<void> {
    while (!this.#stopped) {
      const issued = this.#codes.pop();
      if (!issued) return;
      const grant = `grant ${this.#codes.length}`;
      const tokens = await this.#retry(() => this.#exchange(grant, issued));
      if (tokens) await this.#live(grant, tokens);
    }
  }

  /** The life of one grant: mostly refreshes, now and then userinfo, reuse, a race, a revocation. */
  async #live(grant: string, first: NonNullable<Event['issued']>): Promise<void> {
    let tokens = first;
    let consumed: string | undefined;
    for (let step = 0; step < 40 && !this.#stopped; step++) {
      const dice = Math.random();
      const { refreshToken, accessToken } = tokens;
      if (dice < 0.2) {
        await this.#userinfo(grant, accessToken);
        continue;
      }
      if (dice < 0.22 && consumed) await this.#refresh(grant, consumed);
      if (dice < 0.24) await this.#revoke(grant, refreshToken);
      const renewed =
        dice < 0.27
          ? await this.#race(grant, refreshToken)
          : await this.#retry(() => this.#refresh(grant, refreshToken));
      if (!renewed) return;
      consumed = refreshToken;
      tokens = renewed;
    }
  }

  /** Retries after a server error, as a client does. */
  async #retry(attempt: () => Promise<Outcome>): Promise<Event['issued']> {
    for (let tries = 0; tries < 20 && !this.#stopped; tries++) {
      const { outcome, issued } = await attempt();
      if (outcome !== 'unknown' && outcome !== 'unchanged') return issued;
    }
    return undefined;
  }

  async #race(grant: string, refreshToken: string): Promise<Event['issued']> {
    const both = await Promise.all([1, 2].map(() => this.#refresh(grant, refreshToken)));
    return both.find(({ issued }) => issued)?.issued;
  }

  #exchange(grant: string, issued: IssuedCode): Promise<Outcome> {
    return this.#record('exchange', grant, issued.code, (node) => node.exchange(this.#client, issued));
  }

  #refresh(grant: string, token: string): Promise<Outcome> {
    return this.#record('refresh', grant, token, (node) => node.refresh(this.#client, token));
  }

  #revoke(grant: string, token: string): Promise<Outcome> {
    return this.#record('revoke', grant, token, (node) => node.revoke(this.#client, token));
  }

  #userinfo(grant: string, token: string): Promise<Outcome> {
    return this.#record('userinfo', grant, token, (node) => node.userinfo(token));
  }

  async #record(
    kind: Event['kind'],
    grant: string,
    credential: string,
    send: (node: Service) => Promise<Reply>,
  ): Promise<Outcome> {
    const node = this.#nodes[Math.floor(Math.random() * this.#nodes.length)]!;
    const from = performance.now();
    const outcome = outcomeOf(kind, await send(node));
    const to = performance.now();
    this.slowest = Math.max(this.slowest, to - from);
    this.history.push({ kind, grant, credential, from, to, ...outcome });
    return outcome;
  }
}

function outcomeOf(kind: Event['kind'], { status, body, text }: Reply): Outcome {
  if (status === 500) return { outcome: 'unknown' };
  if (status === 503) return { outcome: 'unchanged' };
  if (status === 200) {
    const { access_token: accessToken, refresh_token: refreshToken } = body as Tokens;
    const issues = kind === 'exchange' || kind === 'refresh';
    return issues ? { outcome: 'success', issued: { accessToken, refreshToken } } : { outcome: 'success' };
  }
  if (status === 401 && body.error === 'invalid_token') return { outcome: 'refused' };
  if (status === 400 && body.error === 'invalid_grant')
    return { outcome: /already used/.test(String(body.error_description)) ? 'reused' : 'refused' };
  throw new Error(`an impossible response: ${status} ${text}`);
}

/** A code as consent issues it. */
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
