import type { App } from '../app.ts';
import type { HttpRequest } from '../http/request.ts';
import { credentialsOf } from '../protocol/authorization-header.ts';
import { hashClientSecret, secretMatches } from '../protocol/client-secret.ts';
import type { FailureReason } from '../protocol/failure-reason.ts';
import { decode, param, parseBody } from '../protocol/parameters.ts';
import type { Application } from '../store/applications.ts';
import type { ResourceServer } from '../store/resource-servers.ts';

/** Client authentication (protocol 5, RFC 6749 2.3), shared by the token, revocation and introspection endpoints. */

type Credentials = { readonly clientId: string | undefined; readonly clientSecret: string | undefined };

export type ClientParameters = Credentials & {
  readonly parameters: ReadonlyMap<string, string>;
  /** The request is malformed: `invalid_request`. */
  readonly fault: MalformedRequest | undefined;
};

type MalformedRequest = Extract<
  FailureReason,
  | 'content_type'
  | 'encoding'
  | 'json'
  | 'not_a_string'
  | 'too_many'
  | 'repeated'
  | 'credentials_in_query'
  | 'two_authentication_methods'
  | 'two_client_ids'
>;

/** Credentials and names of their holders. A query ends up in logs and histories. */
const NEVER_IN_QUERY = [
  'client_id',
  'client_secret',
  'code',
  'code_verifier',
  'refresh_token',
  'token',
  'access_token',
];

/** The parameters of the body, and the client's credentials from the Authorization header or the body. */
export function readClientParameters(http: HttpRequest): ClientParameters {
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
    fault: fault ?? queryFault(http) ?? (inHeader && credentialsSentTwice(inHeader, inBody)),
  };
}

function queryFault(http: HttpRequest): MalformedRequest | undefined {
  if (http.rawQuery === '') return undefined;
  return NEVER_IN_QUERY.some((name) => http.query.has(name)) ? 'credentials_in_query' : undefined;
}

/** RFC 6749 2.3: one method per request. A client_id that merely repeats the header's is not a second one. */
function credentialsSentTwice(inHeader: Credentials, inBody: Credentials): MalformedRequest | undefined {
  if (inBody.clientSecret !== undefined) return 'two_authentication_methods';
  return inBody.clientId === undefined || inBody.clientId === inHeader.clientId
    ? undefined
    : 'two_client_ids';
}

/** RFC 6749 2.3.1: both halves are form-encoded before they are joined. Undefined without a Basic header. */
export function basicCredentials(header: string | undefined): Credentials | undefined {
  const token = credentialsOf('basic', header);
  if (token === undefined || token.includes(' ')) return undefined;
  const pair = Buffer.from(token, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return { clientId: undefined, clientSecret: undefined };
  return {
    clientId: decode(pair.slice(0, colon)) || undefined,
    clientSecret: decode(pair.slice(colon + 1)) || undefined,
  };
}

/** Compared when the client is unknown, so that it costs the same hash and comparison as a known one. */
const NO_SECRET = [{ id: '', hash: hashClientSecret(''), expiresAt: 0 }];

export type ClientAuthentication =
  | { readonly outcome: 'authenticated'; readonly application: Application }
  | { readonly outcome: 'disabled'; readonly disabledBy: 'owner' | 'operator' }
  | { readonly outcome: 'rejected' };

export async function authenticateApplication(
  app: App,
  clientId: string,
  secret: string,
  now: number,
): Promise<ClientAuthentication> {
  const application = await app.store.applications.find(clientId);
  const presented = hashClientSecret(secret);
  let matchedId: string | undefined;
  for (const { id, hash, expiresAt } of application?.secrets ?? NO_SECRET) {
    if (secretMatches(presented, hash) && (expiresAt === null || expiresAt > now)) matchedId = id;
  }
  if (matchedId === undefined || !application) return { outcome: 'rejected' };
  if (application.disabledAt !== null)
    return { outcome: 'disabled', disabledBy: application.disabledBy ?? 'operator' };
  app.store.applications.recordSecretUse(application.clientId, matchedId, now);
  return { outcome: 'authenticated', application };
}

export async function authenticateResourceServer(
  app: App,
  { clientId, clientSecret }: ClientParameters,
): Promise<ResourceServer | undefined> {
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const resourceServer = await app.store.resourceServers.find(clientId);
  const storedHash = resourceServer?.secretHash ?? NO_SECRET[0]!.hash;
  return secretMatches(hashClientSecret(clientSecret), storedHash) ? resourceServer : undefined;
}
