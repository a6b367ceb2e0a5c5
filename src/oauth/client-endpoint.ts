import type { App } from '../app.ts';
import type { Handler, HttpRequest } from '../http/request.ts';
import { errorResponse, type HttpResponse, withHeaders } from '../http/response.ts';
import type { RequestLimit } from '../limits/client-limits.ts';
import { BODY_TOO_LARGE, type ErrorCode, protocolError } from '../protocol/errors.ts';
import { type Failure, NO_DETAILS } from '../protocol/failure-reason.ts';
import type { Diagnostics } from '../request-log/diagnostics.ts';
import type { Application } from '../store/applications.ts';
import {
  authenticateApplication,
  basicCredentials,
  type ClientAuthentication,
  type ClientParameters,
  readClientParameters,
} from './client-auth.ts';
import { type InvalidParameters, rejectedSecret } from './failure-details.ts';

/** A request whose client is authenticated. */
export type ClientRequest = {
  /** An endpoint sets `ref` before it uses the credential: if that fails, the request log still has it. */
  readonly http: HttpRequest;
  readonly application: Application;
  readonly parameters: ReadonlyMap<string, string>;
  readonly now: number;
};

/** A client-authenticated endpoint: validation and action. */
export type ClientEndpoint = {
  /** Looks at the parameters alone. The client's credentials are checked for every endpoint alike. */
  readonly validate: (parameters: ReadonlyMap<string, string>) => InvalidParameters | undefined;
  readonly handle: (app: App, request: ClientRequest) => Promise<HttpResponse>;
};

/** Checks in the contract's order (protocol 4): body, limit, parameters, client, shared limit, action. */
export function clientEndpoint({ validate, handle }: ClientEndpoint): Handler {
  return async (app, http) => {
    const now = app.now();
    if (http.bodyTooLarge) return bodyTooLarge(app, http, now);
    const client = readClientParameters(http);
    const { clientId, clientSecret, parameters } = client;
    const limit = countRequest(app, http, clientId, now);
    if (client.fault) return refuse(client, 'invalid_request', withoutDetails(client.fault));
    if (limit?.exceeded)
      return tooMany(app, limit, 'address', unauthenticated(client, withoutDetails('rate_limited_address')));
    const invalid = validate(parameters);
    if (invalid) return refuse(client, invalid.error, invalid.failure);
    if (limit === undefined || clientId === undefined || clientSecret === undefined)
      return refuse(client, 'invalid_request', CREDENTIALS_MISSING);

    const authentication = await authenticateApplication(app, clientId, clientSecret, now);
    if (authentication.outcome !== 'authenticated')
      return invalidClient(authentication, client, clientSecret);
    const { application } = authentication;
    http.clientId = application.clientId;
    const counted = app.clientLimits.countAuthenticated(limit, application);
    if (counted) await counted;
    if (limit.exceeded) {
      const failure = withoutDetails('rate_limited_client');
      return tooMany(app, limit, 'client', { clientId: application.clientId, failure });
    }
    const response = await handle(app, { http, application, parameters, now });
    return { ...response, diagnostics: { ...response.diagnostics, clientId: application.clientId } };
  };
}

/** The dispatcher adds the limit's headers to whatever response follows. */
function countRequest(
  app: App,
  http: HttpRequest,
  clientId: string | undefined,
  now: number,
): RequestLimit | undefined {
  if (clientId === undefined) return undefined;
  const known = app.store.applications.findCached(clientId);
  const limit = app.clientLimits.countRequest(clientId, known, http.ip, now);
  http.claimedClientId = clientId;
  http.rateLimit = limit;
  return limit;
}

/** Without a body only the header can name the client to count. */
function bodyTooLarge(app: App, http: HttpRequest, now: number): HttpResponse {
  countRequest(app, http, basicCredentials(http.headers.authorization)?.clientId, now);
  return errorResponse(protocolError('invalid_request', BODY_TOO_LARGE, 413), { reason: 'body_too_large' });
}

const CREDENTIALS_MISSING: Failure = { reason: 'parameter_missing', details: { missing: 'client_secret' } };

const withoutDetails = (
  reason: NonNullable<ClientParameters['fault']> | 'rate_limited_address' | 'rate_limited_client',
): Failure => ({ reason, details: NO_DETAILS });

/** Anybody can send a client_id: until the client is authenticated it is only claimed. */
const unauthenticated = ({ clientId }: ClientParameters, failure: Failure): Diagnostics => ({
  claimedClientId: clientId,
  failure,
});

const refuse = (client: ClientParameters, error: ErrorCode, failure: Failure): HttpResponse =>
  errorResponse(error, unauthenticated(client, failure));

/** The reason of a rejected secret is looked up after the response; a disabled application is known now. */
function invalidClient(
  authentication: Exclude<ClientAuthentication, { readonly outcome: 'authenticated' }>,
  client: ClientParameters,
  clientSecret: string,
): HttpResponse {
  if (authentication.outcome === 'disabled') {
    const { disabledBy } = authentication;
    return refuse(client, 'invalid_client', { reason: 'application_disabled', details: { disabledBy } });
  }
  return errorResponse('invalid_client', {
    claimedClientId: client.clientId,
    reason: 'invalid_client',
    rejectedSecret: rejectedSecret(clientSecret),
  });
}

function tooMany(
  app: App,
  limit: RequestLimit,
  counter: 'address' | 'client',
  diagnostics: Diagnostics,
): HttpResponse {
  app.metrics?.rateLimited(counter);
  return withHeaders(errorResponse('rate_limit_exceeded', diagnostics), limit.retryAfter());
}
