import { requireUser, type UserRequest } from '../accounts/require-user.ts';
import type { App } from '../app.ts';
import { htmlResponse } from '../http/html-response.ts';
import type { HttpResponse } from '../http/response.ts';
import { type Held, type PlaygroundProps, playgroundPage, STEPS, type Step } from '../pages/playground.ts';
import type { Exchange } from '../pages/playground-exchange.ts';
import { newId } from '../protocol/credentials.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { type PlaygroundApp, playgroundApp } from './playground-app.ts';
import { PlaygroundRequests } from './playground-requests.ts';

const HELD = ['code', 'state', 'access_token', 'refresh_token', 'used_refresh_token'] as const;
const LATE_MS = 12_000;
/** So many requests at most are sent to reach the limit. */
const MAX_REQUESTS = 100;

type Shown = Pick<PlaygroundProps, 'title' | 'words'> & Partial<PlaygroundProps>;
type Stage = {
  readonly app: App;
  readonly request: UserRequest;
  readonly own: PlaygroundApp;
  readonly send: PlaygroundRequests;
  readonly held: Held;
};

/** GET /dashboard/playground */
export const showPlayground = requireUser(async (app, request) =>
  response(app, request, await playgroundApp(app, request.user), {
    title: 'Playground',
    words: [
      'Walk the whole flow against this server and see every request and response: authorize, code, tokens, userinfo, refresh, reuse, revoke. Nothing needs installing.',
    ],
  }),
);

/** GET /dashboard/playground/callback: where the playground's own application gets its codes. */
export const showPlaygroundCallback = requireUser(async (app, request) => {
  const own = await playgroundApp(app, request.user);
  const query = request.http.query;
  const [code, state] = [query.get('code'), query.get('state')];
  const callback = (own.redirectUri + request.http.url.slice(request.http.url.indexOf('?'))).replaceAll(
    '&',
    '\n&',
  );
  if (code === undefined || state === undefined) {
    const words = [
      'No code came back: the user refused, or the request was wrong. The parameter error says which.',
    ];
    return response(app, request, own, { title: 'No code', words, callback });
  }
  return response(app, request, own, {
    title: 'A code',
    words: ['The user said yes. The code works once, for a few minutes, and only with the verifier.'],
    callback,
    held: { code, state },
  });
});

/** POST /dashboard/playground: one step. */
export const runPlayground = requireUser(
  async (app, request) => {
    const own = await playgroundApp(app, request.user);
    const step = STEPS.find((one) => one === request.form.get('step'));
    const held: Held = Object.fromEntries(HELD.map((name) => [name, request.form.get(name) || undefined]));
    const send = new PlaygroundRequests(app, request.http, own);
    const shown = step && (await RUN[step]({ app, request, own, send, held }));
    return response(app, request, own, shown ?? { title: 'Playground', words: [] });
  },
  () => '/dashboard/playground',
);

const RUN: Readonly<Record<Step, (stage: Stage) => Promise<Shown>>> = {
  async exchange({ request, send, held }) {
    const exchange = await send.exchangeCode(held.code ?? '', verifierFor(request, held.state ?? ''));
    const words = ['The code is spent. The tokens stand for the user: keep them on your server.'];
    return { title: 'Code for tokens', words, exchanges: [exchange], held: tokensIn(exchange) };
  },
  async userinfo({ send, held }) {
    const words = ['The access token says who the user is, as far as the scope goes.'];
    return { title: 'Userinfo', words, exchanges: [await send.userinfo(held.access_token ?? '')], held };
  },
  async refresh({ send, held }) {
    const exchange = await send.refresh(held.refresh_token ?? '');
    const rotated = { ...tokensIn(exchange), used_refresh_token: held.refresh_token };
    const words = ['A refresh token works once: the answer has the next one.'];
    return { title: 'Refresh', words, exchanges: [exchange], held: exchange.status === 200 ? rotated : {} };
  },
  async reuse({ send, held }) {
    const exchanges = [
      await send.refresh(held.used_refresh_token ?? ''),
      await send.userinfo(held.access_token ?? ''),
    ];
    const words = [
      'The old refresh token came again, so somebody may have a copy: the whole session is cut, and the access token with it.',
    ];
    return { title: 'Reuse', words, exchanges };
  },
  async revoke({ send, held }) {
    const exchanges = [
      await send.revoke(held.refresh_token ?? ''),
      await send.userinfo(held.access_token ?? ''),
    ];
    const words = ['The session is over at once. The answer would be the same for a token that never was.'];
    return { title: 'Revoke', words, exchanges };
  },
  async wrong_verifier({ request, send, held }) {
    const exchange = await send.exchangeCode(held.code ?? '', verifierFor(request, `not ${held.state}`));
    const words = ['A verifier of another sign-in. The code is not spent by it: the right one still works.'];
    return { title: 'Wrong verifier', words, exchanges: [exchange], held };
  },
  expired_code: expiredCode,
  async parallel({ send, held }) {
    const token = held.refresh_token ?? '';
    const exchanges = await Promise.all([send.refresh(token), send.refresh(token)]);
    const words = [
      'Two requests with one refresh token at the same moment. One wins; the other looks like a thief, and the session is cut. See the incident in the log of the playground.',
    ];
    return { title: 'Two parallel refreshes', words, exchanges };
  },
  limit: reachLimit,
};

/** Nobody is made to wait: the code is issued with an end that has passed already. The rest is as always. */
async function expiredCode({ app, request, own, send, held }: Stage): Promise<Shown> {
  const now = app.now();
  const state = newId();
  const [userId, grantId] = [request.user.id, newId()];
  const { clientId, redirectUri } = own;
  const codeChallenge = challengeOf(verifierFor(request, state))!;
  const grant = { userId, grantId, clientId, redirectUri, codeChallenge, scope: 1, now };
  await app.store.grants.create({ ...grant, expiresAt: now - LATE_MS });
  const code = app.keys.tokenSigner.signCode({ userId, grantId, generation: 0 });
  const exchange = await send.exchangeCode(code, verifierFor(request, state));
  const words = [
    'How this is done: instead of making you wait, the server issued a code whose time had already run out 12 seconds ago. The exchange and its refusal are the real thing.',
  ];
  return { title: 'Expired code', words, exchanges: [exchange], held };
}

async function reachLimit({ app, send, held }: Stage): Promise<Shown> {
  let last: Exchange;
  let sent = 0;
  do {
    last = await send.revoke('not a token');
    sent++;
  } while (last.status !== 429 && sent < MAX_REQUESTS);
  const words =
    last.status === 429
      ? [
          `${sent} requests were sent; this is the answer to the last. The limit is ${app.config.rateLimit} a minute, token and revoke together. Wait as long as retry-after says, or every further step is refused as well.`,
        ]
      : [
          `${sent} requests were sent and none was refused: the limit here is ${app.config.rateLimit} a minute.`,
        ];
  return { title: 'Rate limit', words, exchanges: [last], held };
}

/** Made anew from the session and the state, so that it need not be kept. */
const verifierFor = ({ browser }: UserRequest, state: string): string =>
  browser.sign('playground verifier', state);

function tokensIn({ status, body }: Exchange): Held {
  if (status !== 200) return {};
  const { access_token, refresh_token } = JSON.parse(body) as Record<string, string>;
  return { access_token, refresh_token } as Held;
}

function response(app: App, request: UserRequest, own: PlaygroundApp, shown: Shown): HttpResponse {
  const state = newId();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: own.clientId,
    redirect_uri: own.redirectUri,
    scope: 'profile email',
    state,
    code_challenge: challengeOf(verifierFor(request, state))!,
    code_challenge_method: 'S256',
  });
  const path = `/oauth/authorize?${query}`;
  const begin = { url: app.config.baseUrl + path, path };
  const { frame } = request;
  return htmlResponse(
    playgroundPage({ frame, clientId: own.clientId, exchanges: [], held: {}, begin, ...shown }),
  );
}
