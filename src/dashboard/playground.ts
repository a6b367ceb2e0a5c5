import { requireUser, type UserRequest } from '../accounts/require-user.ts';
import type { App } from '../app.ts';
import { htmlResponse } from '../http/html-response.ts';
import type { Handler } from '../http/request.ts';
import type { HttpResponse } from '../http/response.ts';
import { messagePage } from '../pages/message.ts';
import {
  CREDENTIAL_NAMES,
  type PlaygroundCredentials,
  type PlaygroundProps,
  type PlaygroundStep,
  playgroundPage,
  STEPS,
} from '../pages/playground.ts';
import type { Exchange } from '../pages/playground-exchange.ts';
import { authorizePath } from '../protocol/authorize-url.ts';
import { newId } from '../protocol/credentials.ts';
import { challengeOf } from '../protocol/pkce.ts';
import { defaultScope } from '../protocol/scope.ts';
import { ensurePlaygroundApp, type PlaygroundApp } from './playground-app.ts';
import { PlaygroundRequests } from './playground-requests.ts';

const LATE_MS = 12_000;
/** Requests sent to reach the rate limit. */
const MAX_REQUESTS = 100;

type PageContent = Pick<PlaygroundProps, 'title' | 'paragraphs'> & Partial<PlaygroundProps>;

type StepContext = {
  readonly app: App;
  readonly request: UserRequest;
  readonly playground: PlaygroundApp;
  readonly send: PlaygroundRequests;
  readonly credentials: PlaygroundCredentials;
};

/** GET /dashboard/playground */
export const showPlayground = requirePlayground((app, request, playground) =>
  playgroundResponse(app, request, playground, {
    title: 'Playground',
    paragraphs: [
      'Walk the whole flow against this server and see every request and response: authorize, code, tokens, userinfo, refresh, reuse, revoke. Nothing needs installing.',
    ],
  }),
);

/** GET /dashboard/playground/callback: the redirect URI of the playground's application. */
export const showPlaygroundCallback = requirePlayground((app, request, playground) => {
  const { url, path, query } = request.http;
  const [code, state] = [query.get('code'), query.get('state')];
  const callback = (playground.redirectUri + url.slice(path.length)).replaceAll('&', '\n&');
  if (code === undefined || state === undefined) {
    const paragraphs = [
      'No code came back: the user refused, or the request was wrong. The parameter error says which.',
    ];
    return playgroundResponse(app, request, playground, { title: 'No code', paragraphs, callback });
  }
  return playgroundResponse(app, request, playground, {
    title: 'A code',
    paragraphs: ['The user said yes. The code works once, for a few minutes, and only with the verifier.'],
    callback,
    credentials: { code, state },
  });
});

/** POST /dashboard/playground: runs one step. */
export const runPlayground = requirePlayground(async (app, request, playground) => {
  const step = STEPS.find((name) => name === request.form.get('step'));
  const credentials: PlaygroundCredentials = Object.fromEntries(
    CREDENTIAL_NAMES.map((name) => [name, request.form.get(name) || undefined]),
  );
  const send = new PlaygroundRequests(app, request.http, playground);
  const content = step && (await STEP_HANDLERS[step]({ app, request, playground, send, credentials }));
  return playgroundResponse(app, request, playground, content ?? { title: 'Playground', paragraphs: [] });
});

/** As `requireUser`, with the user's playground application, unless the operator disabled it (then 403). */
function requirePlayground(
  handler: (
    app: App,
    request: UserRequest,
    playground: PlaygroundApp,
  ) => Promise<HttpResponse> | HttpResponse,
): Handler {
  return requireUser(
    async (app, request) => {
      const playground = await ensurePlaygroundApp(app, request.user);
      return playground ? handler(app, request, playground) : playgroundDisabled();
    },
    () => '/dashboard/playground',
  );
}

function playgroundDisabled(): HttpResponse {
  const content = messagePage({
    title: 'The playground is disabled',
    paragraphs: ['The operator of this service disabled your playground. Only they can enable it again.'],
    next: { path: '/dashboard', label: 'Go to your applications' },
  });
  return htmlResponse(content, { status: 403 });
}

const STEP_HANDLERS: Readonly<Record<PlaygroundStep, (context: StepContext) => Promise<PageContent>>> = {
  async exchange({ request, send, credentials }) {
    const exchange = await send.exchangeCode(
      credentials.code ?? '',
      verifierFor(request, credentials.state ?? ''),
    );
    const paragraphs = ['The code is spent. The tokens stand for the user: keep them on your server.'];
    return { title: 'Code for tokens', paragraphs, exchanges: [exchange], credentials: tokensIn(exchange) };
  },
  async userinfo({ send, credentials }) {
    const paragraphs = ['The access token says who the user is, as far as the scope goes.'];
    return {
      title: 'Userinfo',
      paragraphs,
      exchanges: [await send.userinfo(credentials.access_token ?? '')],
      credentials,
    };
  },
  async refresh({ send, credentials }) {
    const exchange = await send.refresh(credentials.refresh_token ?? '');
    const rotated = { ...tokensIn(exchange), used_refresh_token: credentials.refresh_token };
    const paragraphs = ['A refresh token works once: the answer has the next one.'];
    return {
      title: 'Refresh',
      paragraphs,
      exchanges: [exchange],
      credentials: exchange.status === 200 ? rotated : {},
    };
  },
  async reuse({ send, credentials }) {
    const exchanges = [
      await send.refresh(credentials.used_refresh_token ?? ''),
      await send.userinfo(credentials.access_token ?? ''),
    ];
    const paragraphs = [
      'The old refresh token came again, so somebody may have a copy: the whole session is cut, and the access token with it.',
    ];
    return { title: 'Reuse', paragraphs, exchanges };
  },
  async revoke({ send, credentials }) {
    const exchanges = [
      await send.revoke(credentials.refresh_token ?? ''),
      await send.userinfo(credentials.access_token ?? ''),
    ];
    const paragraphs = [
      'The session is over at once. The answer would be the same for a token that never was.',
    ];
    return { title: 'Revoke', paragraphs, exchanges };
  },
  async wrong_verifier({ request, send, credentials }) {
    const exchange = await send.exchangeCode(
      credentials.code ?? '',
      verifierFor(request, `not ${credentials.state}`),
    );
    const paragraphs = [
      'A verifier of another sign-in. The code is not spent by it: the right one still works.',
    ];
    return { title: 'Wrong verifier', paragraphs, exchanges: [exchange], credentials };
  },
  expired_code: expiredCode,
  async parallel({ send, credentials }) {
    const token = credentials.refresh_token ?? '';
    const exchanges = await Promise.all([send.refresh(token), send.refresh(token)]);
    const paragraphs = [
      'Two requests with one refresh token at the same moment. One wins; the other looks like a thief, and the session is cut. See the incident in the log of the playground.',
    ];
    return { title: 'Two parallel refreshes', paragraphs, exchanges };
  },
  limit: reachLimit,
};

/** Instead of waiting, issues a code that has already expired. Everything else is as usual. */
async function expiredCode({
  app,
  request,
  playground,
  send,
  credentials,
}: StepContext): Promise<PageContent> {
  const now = app.now();
  const state = newId();
  const [userId, grantId] = [request.user.id, newId()];
  const { clientId, redirectUri } = playground;
  const codeChallenge = challengeOf(verifierFor(request, state))!;
  const grant = { userId, grantId, clientId, redirectUri, codeChallenge, scope: defaultScope(), now };
  await app.store.grants.create({ ...grant, expiresAt: now - LATE_MS });
  const code = app.keys.tokenSigner.signCode({ userId, grantId, generation: 0 });
  const exchange = await send.exchangeCode(code, verifierFor(request, state));
  const paragraphs = [
    'How this is done: instead of making you wait, the server issued a code whose time had already run out 12 seconds ago. The exchange and its refusal are the real thing.',
  ];
  return { title: 'Expired code', paragraphs, exchanges: [exchange], credentials };
}

async function reachLimit({ app, playground, send, credentials }: StepContext): Promise<PageContent> {
  let last: Exchange;
  let sent = 0;
  do {
    last = await send.revoke('not a token');
    sent++;
  } while (last.status !== 429 && sent < MAX_REQUESTS);
  const limit = app.clientLimits.limitOf(await app.store.applications.find(playground.clientId));
  const paragraphs =
    last.status === 429
      ? [
          `${sent} requests were sent; this is the answer to the last. The limit is ${limit} a minute, token and revoke together. Wait as long as retry-after says, or every further step is refused as well.`,
        ]
      : [`${sent} requests were sent and none was refused: the limit here is ${limit} a minute.`];
  return { title: 'Rate limit', paragraphs, exchanges: [last], credentials };
}

/** Derived from session and state, so that it need not be stored. */
const verifierFor = ({ browser }: UserRequest, state: string): string =>
  browser.sign('playground verifier', state);

function tokensIn({ status, body }: Exchange): PlaygroundCredentials {
  if (status !== 200) return {};
  const { access_token, refresh_token } = JSON.parse(body) as Record<string, string>;
  return { access_token, refresh_token } as PlaygroundCredentials;
}

function playgroundResponse(
  app: App,
  request: UserRequest,
  playground: PlaygroundApp,
  content: PageContent,
): HttpResponse {
  const state = newId();
  const { clientId, redirectUri } = playground;
  const codeChallenge = challengeOf(verifierFor(request, state))!;
  const path = authorizePath({ clientId, redirectUri, scope: defaultScope(), state, codeChallenge });
  const authorization = { url: app.config.baseUrl + path, path };
  const { frame } = request;
  return htmlResponse(
    playgroundPage({
      frame,
      clientId,
      exchanges: [],
      credentials: {},
      authorization,
      ...content,
    }),
  );
}
