/**
 * A small web application with a "Sign in with Postern" button. The OAuth part is the discovery and the
 * functions 1 to 4, which call `openid-client`, and the error handling in 5; the rest is a web server.
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

/** State of one browser. Kept in memory here; a real application stores it in its database. */
type Session = {
  pending?: { verifier: string; state: string };
  tokens?: oauth.TokenEndpointResponse;
  profile?: oauth.UserInfoResponse;
  refreshes: number;
};
const sessions = new Map<string, Session>();

/** A page, or a redirect. */
type Result = { page: string; status?: number } | { redirect: string };

/** Reads Postern's endpoints from its metadata (RFC 8414). Allow insecure requests on localhost only. */
const postern = await oauth.discovery(new URL(POSTERN_URL), CLIENT_ID, CLIENT_SECRET, undefined, {
  algorithm: 'oauth2',
  execute: POSTERN_URL.startsWith('http:') ? [oauth.allowInsecureRequests] : [],
});

/** 1. The user pressed the button: redirect to Postern with a new PKCE challenge and state. */
async function signIn(session: Session): Promise<Result> {
  const verifier = oauth.randomPKCECodeVerifier();
  const state = oauth.randomState();
  session.pending = { verifier, state };
  const url = oauth.buildAuthorizationUrl(postern, {
    redirect_uri: redirectUri,
    scope: 'profile email',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { redirect: url.href };
}

/** 2. The user returned with a code, or with an error. Exchange the code for tokens and read the profile. */
async function callback(session: Session, url: URL): Promise<Result> {
  const { pending } = session;
  delete session.pending;
  if (!pending) return { redirect: '/' };
  if (url.searchParams.get('error') === 'access_denied')
    return { page: messagePage('Access denied', 'Nothing was shared with this application.') };
  session.tokens = await oauth.authorizationCodeGrant(postern, url, {
    pkceCodeVerifier: pending.verifier,
    expectedState: pending.state,
  });
  session.profile = await oauth.fetchUserInfo(postern, session.tokens.access_token, oauth.skipSubjectCheck);
  session.refreshes = 0;
  return { redirect: '/' };
}

/** 3. The access token expired: refresh it. The refresh token works once; the response contains the next one. */
async function refresh(session: Session): Promise<Result> {
  if (!session.tokens?.refresh_token) return { redirect: '/' };
  session.tokens = await oauth.refreshTokenGrant(postern, session.tokens.refresh_token);
  session.profile = await oauth.fetchUserInfo(postern, session.tokens.access_token, oauth.skipSubjectCheck);
  session.refreshes++;
  return { redirect: '/' };
}

/** 4. The user signs out: revoke the tokens. */
async function signOut(session: Session): Promise<Result> {
  if (session.tokens?.refresh_token) await oauth.tokenRevocation(postern, session.tokens.refresh_token);
  delete session.tokens;
  delete session.profile;
  return { redirect: '/' };
}

function home({ tokens, profile, refreshes }: Session): Result {
  return { page: tokens && profile ? connectedPage(profile, tokens, refreshes) : welcomePage() };
}

/** 5. A request failed: show the error code. After invalid_grant, the user must sign in again. */
function showError(session: Session, error: unknown): Result {
  delete session.tokens;
  delete session.profile;
  console.error(error);
  const reason = error instanceof oauth.ResponseBodyError ? error.error : 'the request failed';
  return {
    page: messagePage('Sign-in failed', `Postern returned: ${reason}. Please sign in again.`),
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
      return { page: messagePage('Page not found', 'This application has one page.'), status: 404 };
  }
}

const server = createServer(async (request, response) => {
  const cookie = /(?:^|; )web_app=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1];
  const id = cookie !== undefined && sessions.has(cookie) ? cookie : randomUUID();
  const session = sessions.get(id) ?? { refreshes: 0 };
  sessions.set(id, session);
  const result = await Promise.resolve()
    .then(() => route(request, session))
    .catch((error: unknown) => showError(session, error));
  response.setHeader('set-cookie', `web_app=${id}; Path=/; HttpOnly; SameSite=Lax`);
  response.setHeader('cache-control', 'no-store');
  if ('redirect' in result) response.writeHead(303, { location: result.redirect }).end();
  else
    response.writeHead(result.status ?? 200, { 'content-type': 'text/html; charset=utf-8' }).end(result.page);
});

server.listen(Number(PORT), '127.0.0.1', () => console.log(`The example application listens on ${self}`));
