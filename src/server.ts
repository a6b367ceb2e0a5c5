import { randomBytes } from 'node:crypto';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { changeProfile, endOtherSessions, endSession, showAccount } from './accounts/account.ts';
import {
  changeEmail,
  changePassword,
  deleteAccount,
  sendVerification,
  showDeleteAccount,
} from './accounts/account-security.ts';
import { disconnect, showConnections, showDisconnect } from './accounts/connections.ts';
import { home, showLogin, showSignOut, signIn, signOut } from './accounts/login.ts';
import {
  forgotPassword,
  resetPassword,
  showForgotPassword,
  showResetPassword,
} from './accounts/password-reset.ts';
import { PasswordsBusy } from './accounts/passwords.ts';
import { confirmSignUp, showConfirmSignUp, showSignUp, signUp } from './accounts/sign-up.ts';
import { showVerifyEmail, verifyEmail } from './accounts/verify-email.ts';
import { type Answer, errorAnswer, type Note, withErrorUri, withHeaders } from './answer.ts';
import type { App } from './app.ts';
import {
  disableApplication,
  enableApplication,
  saveApplication,
  showApplication,
} from './dashboard/application.ts';
import { showApplications } from './dashboard/applications.ts';
import { confirmDeletion, deleteApplication } from './dashboard/delete-application.ts';
import { showIncident, showIncidents } from './dashboard/incidents.ts';
import { createApplication, showNewApplication } from './dashboard/new-application.ts';
import { runPlayground, showPlayground, showPlaygroundCallback } from './dashboard/playground.ts';
import { showError, showRequest, showRequests } from './dashboard/requests.ts';
import { addSecret, confirmSecretRemoval, removeSecret } from './dashboard/secrets.ts';
import { showUsage } from './dashboard/usage.ts';
import { decideConsent, showConsent } from './endpoints/authorize.ts';
import { clientEndpoint } from './endpoints/client-request.ts';
import { health } from './endpoints/health.ts';
import { introspection } from './endpoints/introspect.ts';
import { metadata } from './endpoints/metadata.ts';
import { docs, openapi } from './endpoints/openapi.ts';
import { revoke } from './endpoints/revoke.ts';
import { token } from './endpoints/token.ts';
import { userinfo } from './endpoints/userinfo.ts';
import { measureRequests } from './metrics/request-metrics.ts';
import { page } from './page-answer.ts';
import { allAssets } from './pages/assets.ts';
import { messagePage } from './pages/message.ts';
import {
  BODY_TOO_LARGE,
  type ErrorCode,
  errorUri,
  METHOD_NOT_ALLOWED,
  NOT_FOUND,
  protocolError,
} from './protocol/errors.ts';
import { RequestLog } from './request-log/request-log.ts';
import type { LoggedEndpoint } from './store/request-records.ts';
import { traceRequests } from './traces/request-spans.ts';

const BODY_LIMIT = 64 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    note?: Note;
    errorCode?: ErrorCode;
  }
  interface FastifyContextConfig {
    /** Asked for so often and telling so little that it is logged only on request. */
    quiet?: boolean;
    /** Its requests go into the log of the application that they name. */
    logged?: LoggedEndpoint | undefined;
  }
}

const LOGGED: Readonly<Record<string, LoggedEndpoint>> = {
  '/oauth/authorize': 'authorize',
  '/oauth/token': 'token',
  '/oauth/revoke': 'revoke',
};

type Handler = (app: App, request: FastifyRequest) => Promise<Answer> | Answer;
type Route = { readonly method: 'GET' | 'POST'; readonly path: string; readonly handler: Handler };

/** Every address of the service. */
function routes(app: App): Route[] {
  const tokenHandler = clientEndpoint(app, token);
  const revokeHandler = clientEndpoint(app, revoke);
  const introspect = introspection(app);
  return [
    { method: 'POST', path: '/oauth/token', handler: (_, request) => tokenHandler(request) },
    { method: 'POST', path: '/oauth/revoke', handler: (_, request) => revokeHandler(request) },
    { method: 'GET', path: '/oauth/userinfo', handler: userinfo },
    { method: 'POST', path: '/oauth/introspect', handler: (_, request) => introspect(request) },
    { method: 'GET', path: '/oauth/authorize', handler: showConsent },
    { method: 'POST', path: '/oauth/authorize', handler: decideConsent },
    { method: 'GET', path: '/.well-known/oauth-authorization-server', handler: metadata },
    { method: 'GET', path: '/openapi.json', handler: openapi },
    { method: 'GET', path: '/docs', handler: docs },
    { method: 'GET', path: '/health', handler: health },
    { method: 'GET', path: '/', handler: home },
    { method: 'GET', path: '/login', handler: showLogin },
    { method: 'POST', path: '/login', handler: signIn },
    { method: 'GET', path: '/logout', handler: showSignOut },
    { method: 'POST', path: '/logout', handler: signOut },
    { method: 'GET', path: '/signup', handler: showSignUp },
    { method: 'POST', path: '/signup', handler: signUp },
    { method: 'GET', path: '/signup/confirm', handler: showConfirmSignUp },
    { method: 'POST', path: '/signup/confirm', handler: confirmSignUp },
    { method: 'GET', path: '/forgot-password', handler: showForgotPassword },
    { method: 'POST', path: '/forgot-password', handler: forgotPassword },
    { method: 'GET', path: '/reset-password', handler: showResetPassword },
    { method: 'POST', path: '/reset-password', handler: resetPassword },
    { method: 'GET', path: '/verify-email', handler: showVerifyEmail },
    { method: 'POST', path: '/verify-email', handler: verifyEmail },
    { method: 'GET', path: '/account', handler: showAccount },
    { method: 'POST', path: '/account/profile', handler: changeProfile },
    { method: 'POST', path: '/account/email', handler: changeEmail },
    { method: 'POST', path: '/account/email/verify', handler: sendVerification },
    { method: 'POST', path: '/account/password', handler: changePassword },
    { method: 'POST', path: '/account/sessions/end', handler: endSession },
    { method: 'POST', path: '/account/sessions/end-others', handler: endOtherSessions },
    { method: 'GET', path: '/account/delete', handler: showDeleteAccount },
    { method: 'POST', path: '/account/delete', handler: deleteAccount },
    { method: 'GET', path: '/account/connections', handler: showConnections },
    { method: 'GET', path: '/account/connections/:client_id/disconnect', handler: showDisconnect },
    { method: 'POST', path: '/account/connections/:client_id/disconnect', handler: disconnect },
    { method: 'GET', path: '/dashboard', handler: showApplications },
    { method: 'GET', path: '/dashboard/apps/new', handler: showNewApplication },
    { method: 'POST', path: '/dashboard/apps/new', handler: createApplication },
    { method: 'GET', path: '/dashboard/apps/:client_id', handler: showApplication },
    { method: 'POST', path: '/dashboard/apps/:client_id', handler: saveApplication },
    { method: 'POST', path: '/dashboard/apps/:client_id/disable', handler: disableApplication },
    { method: 'POST', path: '/dashboard/apps/:client_id/enable', handler: enableApplication },
    { method: 'GET', path: '/dashboard/apps/:client_id/delete', handler: confirmDeletion },
    { method: 'POST', path: '/dashboard/apps/:client_id/delete', handler: deleteApplication },
    { method: 'GET', path: '/dashboard/apps/:client_id/requests', handler: showRequests },
    { method: 'GET', path: '/dashboard/apps/:client_id/requests/:id', handler: showRequest },
    { method: 'GET', path: '/dashboard/apps/:client_id/incidents', handler: showIncidents },
    { method: 'GET', path: '/dashboard/apps/:client_id/incidents/:id', handler: showIncident },
    { method: 'GET', path: '/dashboard/apps/:client_id/usage', handler: showUsage },
    { method: 'GET', path: '/dashboard/playground', handler: showPlayground },
    { method: 'POST', path: '/dashboard/playground', handler: runPlayground },
    { method: 'GET', path: '/dashboard/playground/callback', handler: showPlaygroundCallback },
    { method: 'GET', path: '/errors/:id', handler: showError },
    { method: 'POST', path: '/dashboard/apps/:client_id/secrets', handler: addSecret },
    {
      method: 'GET',
      path: '/dashboard/apps/:client_id/secrets/:secret_id/remove',
      handler: confirmSecretRemoval,
    },
    { method: 'POST', path: '/dashboard/apps/:client_id/secrets/:secret_id/remove', handler: removeSecret },
  ];
}

/** Addresses that a person's browser asks for; everything else is answered in JSON. */
const PAGES =
  /^\/($|(login|logout|signup|forgot-password|reset-password|verify-email|account|dashboard|errors|oauth\/authorize)(\/|$))/;

export function buildServer(app: App): FastifyInstance {
  const server = Fastify({
    bodyLimit: BODY_LIMIT,
    trustProxy: app.config.trustProxy === 1 ? (_address, hop) => hop === 0 : app.config.trustProxy,
    genReqId: requestIds(app.now),
    // A slow or idle peer holds a connection this long and no longer.
    requestTimeout: 15_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 30_000,
    http: { headersTimeout: 10_000, maxHeaderSize: 16 * 1024 },
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 200 },
  });
  // Bodies come as bytes: each endpoint decides what it reads, and a wrong type is its error to name.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const requestLog = RequestLog.of(app);
  server.addHook('onResponse', (request, reply, done) => {
    logRequest(app, request, reply);
    requestLog.observe(request, reply);
    done();
  });
  server.addHook('onClose', () => requestLog.close());
  if (app.metrics) measureRequests(server, app.metrics);
  if (app.tracer) traceRequests(server, app.tracer);
  server.setErrorHandler((error: FastifyError, request, reply) =>
    send(app, request, reply, failed(app, error, request)),
  );

  const methods = new Map<string, string[]>();
  for (const { method, path, handler } of routes(app)) {
    methods.set(path, [...(methods.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
    server.route({
      method,
      url: path,
      config: { quiet: path === '/health', logged: LOGGED[path] },
      handler: async (request, reply) => send(app, request, reply, await handler(app, request)),
    });
  }
  for (const { path, type, body } of allAssets()) {
    const headers = {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    };
    server.get(path, { config: { quiet: true } }, (_request, reply) => reply.headers(headers).send(body));
  }
  server.setNotFoundHandler((request, reply) => send(app, request, reply, nothingHere(request, methods)));
  return server;
}

function send(app: App, request: FastifyRequest, reply: FastifyReply, result: Answer): FastifyReply {
  const answer = result.error ? explained(app, request, result) : result;
  if (answer.note) request.note = answer.note;
  if (answer.error) request.errorCode = answer.error;
  return reply.code(answer.status).headers(answer.headers).send(answer.body);
}

/** An error of the token or revocation endpoint says where its reason can be read. */
function explained(app: App, request: FastifyRequest, answer: Answer): Answer {
  const { logged } = request.routeOptions.config;
  if (logged !== 'token' && logged !== 'revoke') return answer;
  return withErrorUri(answer, request.id, errorUri(app.config.baseUrl, request.id));
}

function nothingHere(request: FastifyRequest, methods: ReadonlyMap<string, string[]>): Answer {
  const path = request.url.split('?', 1)[0]!;
  const allowed = methods.get(path);
  if (allowed) {
    return withHeaders(errorAnswer(protocolError('invalid_request', METHOD_NOT_ALLOWED, 405)), {
      allow: allowed.join(', '),
    });
  }
  if (!PAGES.test(path)) return errorAnswer(protocolError('invalid_request', NOT_FOUND, 404));
  return page(messagePage({ title: 'Page not found', paragraphs: [NOT_FOUND] }), { status: 404 });
}

/** The one place where what was not foreseen becomes an answer. Its details go to the log and nowhere else. */
function failed(app: App, error: FastifyError, request: FastifyRequest): Answer {
  const path = request.url.split('?', 1)[0]!;
  if (error.statusCode === 413) return errorAnswer(protocolError('invalid_request', BODY_TOO_LARGE, 413));
  if (error.statusCode !== undefined && error.statusCode < 500)
    return errorAnswer('invalid_request', { reason: error.code });
  const busy = error instanceof PasswordsBusy;
  if (!busy) app.log.error({ err: error, request: request.id }, 'a request failed');
  const status = busy ? 503 : 500;
  if (!PAGES.test(path)) return errorAnswer(busy ? 'temporarily_unavailable' : 'server_error');
  const content = messagePage({
    title: busy ? 'Busy right now' : 'Something went wrong',
    paragraphs: ['Nothing was changed that you did not see confirmed. Please try again in a moment.'],
    requestId: request.id,
  });
  return page(content, { status, headers: { 'retry-after': '5' } });
}

/** One line a request. The address as registered, never as sent: a query can hold a code. */
function logRequest(app: App, request: FastifyRequest, reply: FastifyReply): void {
  const level = request.routeOptions.config?.quiet ? 'debug' : 'info';
  app.log[level]({
    request: request.id,
    method: request.method,
    path: request.routeOptions.url ?? '(none)',
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    address: request.ip,
    client: request.note?.client,
    reason: request.note?.reason,
  });
}

/** Unique over restarts and nodes, and in the order of time: the time, a count and a random end for the process. */
function requestIds(now: () => number): () => string {
  const process = randomBytes(5).toString('hex');
  const digits = (number: number, length: number) => number.toString(36).padStart(length, '0');
  let count = 0;
  return () => {
    count = (count + 1) % COUNTS;
    return digits(now(), 9) + digits(count, 4) + process;
  };
}

const COUNTS = 36 ** 4;
