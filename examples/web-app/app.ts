/**
 * A small web application with a "Sign in with Postern" button, to be read from top to bottom.
 * Everything about OAuth is in the five functions that call `openid-client`; the rest is a web server.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import * as oauth from 'openid-client';
import { connectedPage, messagePage, welcomePage } from './pages.ts';

const {
  POSTERN_URL = 'http://localhost:3000',
  CLIENT_ID = '',
  CLIENT_SECRET = '',
  PORT = '4000',
} = process.env;
const self = `http://localhost:${PORT}`;
const redirectUri = `${self}/callback`;

/** What this application knows of one browser. In memory: a real one keeps it in its database. */
type Session = {
  pending?: { verifier: string; state: string };
  tokens?: oauth.TokenEndpointResponse;
  profile?: oauth.UserInfoResponse;
  refreshes: number;
};
const sessions = new Map<string, Session>();

/** Where a request leads: a page, or another address. */
type Result = { page: string; status?: number } | { goTo: string };

/** Postern's addresses come from its metadata (RFC 8414). `allowInsecureRequests` is for http on this machine only. */
const postern = await oauth.discovery(new URL(POSTERN_URL), CLIENT_ID, CLIENT_SECRET, undefined, {
  algorithm: 'oauth2',
  execute: POSTERN_URL.startsWith('http:') ? [oauth.allowInsecureRequests] : [],
});

/** 1. The user pressed the button: off to Postern, with a fresh PKCE verifier and state to know them by when they return. */
async function signIn(session: Session): Promise<Result> {
  const verifier = oauth.randomPKCECodeVerifier();
  const state = oauth.randomState();
  session.pending = { verifier, state };
  const address = oauth.buildAuthorizationUrl(postern, {
    redirect_uri: redirectUri,
    scope: 'profile email',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { goTo: address.href };
}

/** 2. Postern sent them back, with a code or with the news that they said no. The code buys the tokens, the token the profile. */
async function callback(session: Session, url: URL): Promise<Result> {
  const { pending } = session;
  delete session.pending;
  if (!pending) return { goTo: '/' };
  if (url.searchParams.get('error') === 'access_denied')
    return { page: messagePage('You said no', 'So nothing was shared with this application.') };
  session.tokens = await oauth.authorizationCodeGrant(postern, url, {
    pkceCodeVerifier: pending.verifier,
    expectedState: pending.state,
  });
  session.profile = await oauth.fetchUserInfo(postern, session.tokens.access_token, oauth.skipSubjectCheck);
  session.refreshes = 0;
  return { goTo: '/' };
}

/** 3. Later, when the access token has run out: the refresh token buys a new pair, and is then worth nothing. */
async function refresh(session: Session): Promise<Result> {
  if (!session.tokens?.refresh_token) return { goTo: '/' };
  session.tokens = await oauth.refreshTokenGrant(postern, session.tokens.refresh_token);
  session.profile = await oauth.fetchUserInfo(postern, session.tokens.access_token, oauth.skipSubjectCheck);
  session.refreshes++;
  return { goTo: '/' };
}

/** 4. The user leaves: the tokens end now instead of some day. */
async function signOut(session: Session): Promise<Result> {
  if (session.tokens?.refresh_token) await oauth.tokenRevocation(postern, session.tokens.refresh_token);
  delete session.tokens;
  delete session.profile;
  return { goTo: '/' };
}

function home({ tokens, profile, refreshes }: Session): Result {
  return { page: tokens && profile ? connectedPage(profile, tokens, refreshes) : welcomePage() };
}

/** 5. What went wrong, in the words of the error response. A cut session means: sign in again. */
function failed(session: Session, error: unknown): Result {
  delete session.tokens;
  delete session.profile;
  console.error(error);
  const reason = error instanceof oauth.ResponseBodyError ? error.error : 'the request failed';
  return {
    page: messagePage('That did not work', `Postern says: ${reason}. Please sign in again.`),
    status: 502,
  };
}

function route(request: IncomingMessage, session: Session): Result | Promise<Result> {
  const url = new URL(request.url ?? '/', self);
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /':
      return home(session);
    case 'POST /login':
      return signIn(session);
    case 'GET /callback':
      return callback(session, url);
    case 'POST /refresh':
      return refresh(session);
    case 'POST /logout':
      return signOut(session);
    default:
      return { page: messagePage('Nothing here', 'This application has one page.'), status: 404 };
  }
}

const server = createServer(async (request, response) => {
  const known = /(?:^|; )web_app=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1];
  const id = known !== undefined && sessions.has(known) ? known : randomUUID();
  const session = sessions.get(id) ?? { refreshes: 0 };
  sessions.set(id, session);
  const result = await Promise.resolve()
    .then(() => route(request, session))
    .catch((error: unknown) => failed(session, error));
  response.setHeader('set-cookie', `web_app=${id}; Path=/; HttpOnly; SameSite=Lax`);
  response.setHeader('cache-control', 'no-store');
  if ('goTo' in result) response.writeHead(303, { location: result.goTo }).end();
  else
    response.writeHead(result.status ?? 200, { 'content-type': 'text/html; charset=utf-8' }).end(result.page);
});

server.listen(Number(PORT), '127.0.0.1', () => console.log(`The example application listens on ${self}`));
