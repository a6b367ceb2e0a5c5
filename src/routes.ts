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
import { confirmSignUp, showConfirmSignUp, showSignUp, signUp } from './accounts/sign-up.ts';
import { showUndoEmailChange, undoEmailChange } from './accounts/undo-email-change.ts';
import { showVerifyEmail, verifyEmail } from './accounts/verify-email.ts';
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
import type { Routing } from './http/dispatcher.ts';
import type { Route } from './http/request.ts';
import { decideConsent, showConsent } from './oauth/authorize.ts';
import { clientEndpoint } from './oauth/client-endpoint.ts';
import { health } from './oauth/health.ts';
import { introspection } from './oauth/introspect.ts';
import { metadata } from './oauth/metadata.ts';
import { docs, openapi } from './oauth/openapi/document.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import { userinfo } from './oauth/userinfo.ts';
import { type Asset, allAssets } from './pages/assets.ts';

/** Every address of the service. */
export const routing = (): Routing => ({
  routes: [...oauthRoutes(), ...ACCOUNT_ROUTES, ...DASHBOARD_ROUTES, ...allAssets().map(assetRoute)],
  isPage: (path) => PAGE_PATHS.test(path),
});

function oauthRoutes(): Route[] {
  const clientRoute = { method: 'POST', countsAgainstLimit: true, explainsErrors: true } as const;
  return [
    { ...clientRoute, path: '/oauth/token', logged: 'token', handler: clientEndpoint(token) },
    { ...clientRoute, path: '/oauth/revoke', logged: 'revoke', handler: clientEndpoint(revoke) },
    { method: 'GET', path: '/oauth/userinfo', handler: userinfo },
    { method: 'POST', path: '/oauth/introspect', handler: introspection() },
    { method: 'GET', path: '/oauth/authorize', logged: 'authorize', handler: showConsent },
    { method: 'POST', path: '/oauth/authorize', logged: 'authorize', handler: decideConsent },
    { method: 'GET', path: '/.well-known/oauth-authorization-server', handler: metadata },
    { method: 'GET', path: '/openapi.json', handler: openapi },
    { method: 'GET', path: '/docs', handler: docs },
    { method: 'GET', path: '/health', quiet: true, handler: health },
  ];
}

const ACCOUNT_ROUTES: readonly Route[] = [
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
  { method: 'GET', path: '/undo-email-change', handler: showUndoEmailChange },
  { method: 'POST', path: '/undo-email-change', handler: undoEmailChange },
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
];

const DASHBOARD_ROUTES: readonly Route[] = [
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

/** The path changes with the content, so that browsers may cache it for ever. */
function assetRoute({ path, type, body }: Asset): Route {
  const headers = {
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  };
  return { method: 'GET', path, quiet: true, handler: () => ({ status: 200, headers, body }) };
}

/** Paths at which errors are pages; everywhere else they are JSON. */
const PAGE_PATHS =
  /^\/($|(login|logout|signup|forgot-password|reset-password|verify-email|undo-email-change|account|dashboard|errors|oauth\/authorize)(\/|$))/;
