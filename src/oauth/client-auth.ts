import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import {
  type Diagnostics,
  errorResponse,
  type HttpResponse,
  type LogEntryDiagnostics,
  withHeaders,
} from '../http/response.ts';
import { hashClientSecret, secretMatches } from '../protocol/client-secret.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import { decode, param, parseBody, parseForm } from '../protocol/parameters.ts';
import type { Application } from '../store/applications.ts';
import type { LogDetails } from '../store/request-log.ts';
import { ClientLimits, type RequestLimit } from './client-limits.ts';
import { refusedSecret } from './failure-details.ts';

/** A request from an application that has proven who it is. */
export type ClientRequest = {
  readonly application: Application;
  readonly parameters: ReadonlyMap<string, string>;
  readonly now: number;
};

/** What an endpoint for applications does: which parameters it cannot do without, and the deed itself. */
export type ClientEndpoint = {
  /** Looks at the parameters alone; the client's own two are checked for every endpoint alike. */
  readonly validate: (parameters: ReadonlyMap<string, string>) => ValidationFailure | undefined;
  readonly handle: (app: App, request: ClientRequest) => Promise<HttpResponse>;
};

/** What a request lacks. */
export type ValidationFailure = {
  readonly error: ErrorCode;
  readonly reason: string;
  readonly details?: LogDetails;
};

type Credentials = { readonly clientId: string | undefined; readonly clientSecret: string | undefined };
type Read = Credentials & {
  readonly parameters: ReadonlyMap<string, string>;
  readonly fault: string | undefined;
};

/** Parameters that carry a credential or name its bearer. In a query they end up in logs and histories. */
const NEVER_IN_QUERY = [
  'client_id',
  'client_secret',
  'code',
  'code_verifier',
  'refresh_token',
  'token',
  'access_token',
];

/**
 * Every request to the token and revocation endpoints goes through here. One that names a client is
 * counted whatever comes of it, and its response says what is left of the limit, even when we failed.
 */
export function clientEndpoint(
  app: App,
  endpoint: ClientEndpoint,
): (request: HttpRequest) => Promise<HttpResponse> {
  const limits = ClientLimits.of(app);
  return async (http) => {
    const now = app.now();
    const read = readClientParameters(http);
    const limit = read.clientId === undefined ? undefined : limits.countRequest(read.clientId, http.ip, now);
    let response: HttpResponse;
    try {
      response = await answerClient(app, endpoint, read, limit, now);
    } catch (error) {
      app.log.error({ err: error, request_id: http.id }, 'a request failed');
      response = errorResponse('server_error', unauthenticated(read, 'server_error'));
    }
    return limit ? withHeaders(response, limit.headers()) : response;
  };
}

/** An response to a request whose body could not even be read: where a header names the client, it counts all the same. */
export function countedRefusal(app: App, http: HttpRequest, response: HttpResponse): HttpResponse {
  const clientId = basicCredentials(http.headers.authorization)?.clientId;
  if (clientId === undefined) return response;
  return withHeaders(response, ClientLimits.of(app).countRequest(clientId, http.ip, app.now()).headers());
}

/** In the order of the contract: body, limit, missing parameters, who it is, the shared limit, and then the deed. */
async function answerClient(
  app: App,
  { validate, handle }: ClientEndpoint,
  read: Read,
  limit: RequestLimit | undefined,
  now: number,
): Promise<HttpResponse> {
  const { parameters, clientId, clientSecret, fault } = read;
  if (fault !== undefined) return errorResponse('invalid_request', unauthenticated(read, fault));
  if (limit?.exceeded) return tooMany(app, limit, 'address', unauthenticated(read, 'address'));
  const demanded = validate(parameters);
  if (demanded)
    return errorResponse(
      demanded.error,
      unauthenticated(read, demanded.reason, { details: demanded.details ?? {} }),
    );
  if (limit === undefined || clientId === undefined || clientSecret === undefined)
    return errorResponse('invalid_request', unauthenticated(read, 'parameter_missing', NO_CREDENTIALS));

  const application = await authenticate(app, clientId, clientSecret, now);
  if (!application)
    return errorResponse(
      'invalid_client',
      unauthenticated(read, 'client_refused', { rejectedSecret: refusedSecret(clientSecret) }),
    );
  const counted = limit.countAuthenticated();
  if (counted) await counted;
  if (limit.exceeded)
    return tooMany(app, limit, 'client', { clientId: application.clientId, reason: 'client' });
  const response = await handle(app, { application, parameters, now });
  return { ...response, diagnostics: { ...response.diagnostics, clientId: application.clientId } };
}

const NO_CREDENTIALS: LogEntryDiagnostics = { details: { missing: 'client_secret' } };

/** Why a request failed that may be anybody's: who it says it is from is all that is known. */
const unauthenticated = ({ clientId }: Read, reason: string, more?: LogEntryDiagnostics): Diagnostics => ({
  reason,
  logEntry: { claimedClientId: clientId, ...more },
});

function tooMany(
  app: App,
  limit: RequestLimit,
  counter: 'address' | 'client',
  diagnostics: Diagnostics,
): HttpResponse {
  app.metrics?.rateLimited(counter);
  return withHeaders(errorResponse('rate_limit_exceeded', diagnostics), limit.retryAfter());
}

/** The parameters of a request and, among them or in its header, who it says it is from. */
export function readClientParameters(http: HttpRequest): Read {
  const { values: parameters, fault } = parseBody(http.headers['content-type'], http.body);
  const inBody = {
    clientId: param(parameters, 'client_id'),
    clientSecret: param(parameters, 'client_secret'),
  };
  const inHeader = basicCredentials(http.headers.authorization);
  const credentials = inHeader ?? inBody;
  return {
    parameters,
    ...credentials,
    clientId: credentials.clientId ?? inBody.clientId,
    fault: fault ?? queryFault(http.url) ?? (inHeader && bothMethods(inHeader, inBody)),
  };
}

function queryFault(url: string): string | undefined {
  const mark = url.indexOf('?');
  if (mark < 0) return undefined;
  const { values } = parseForm(url.slice(mark + 1));
  return NEVER_IN_QUERY.some((name) => values.has(name)) ? 'credentials_in_query' : undefined;
}

/** RFC 6749 2.3: one method of authentication a request. A client_id that merely repeats the header's is no second one. */
function bothMethods(inHeader: Credentials, inBody: Credentials): string | undefined {
  if (inBody.clientSecret !== undefined) return 'two_authentication_methods';
  return inBody.clientId === undefined || inBody.clientId === inHeader.clientId
    ? undefined
    : 'two_client_ids';
}

/** RFC 6749 2.3.1: both halves are form-encoded before they are joined. What cannot be read names nobody. */
function basicCredentials(header: string | undefined): Credentials | undefined {
  const match = /^basic +(\S*) *$/i.exec(header ?? '');
  if (!match) return undefined;
  const pair = Buffer.from(match[1]!, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return { clientId: undefined, clientSecret: undefined };
  return {
    clientId: decode(pair.slice(0, colon)) || undefined,
    clientSecret: decode(pair.slice(colon + 1)) || undefined,
  };
}

/** An unknown client costs the same hash and comparison as a known one. */
const NO_SECRET = [{ id: '', hash: hashClientSecret(''), expiresAt: 0 }];

async function authenticate(
  app: App,
  clientId: string,
  secret: string,
  now: number,
): Promise<Application | undefined> {
  const application = await app.store.applications.find(clientId);
  const presented = hashClientSecret(secret);
  let matchedId: string | undefined;
  for (const { id, hash, expiresAt } of application?.secrets ?? NO_SECRET) {
    if (secretMatches(presented, hash) && (expiresAt === null || expiresAt > now)) matchedId = id;
  }
  if (matchedId === undefined || application?.disabledAt !== null) return undefined;
  app.store.applications.recordSecretUse(application.clientId, matchedId, now);
  return application;
}
