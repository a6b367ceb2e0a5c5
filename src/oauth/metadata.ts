import type { App } from '../app.ts';
import { type HttpResponse, jsonResponse, withHeaders } from '../http/response.ts';
import { PROFILE_FIELDS } from '../protocol/profile.ts';
import { scopeNames } from '../protocol/scope.ts';

const CLIENT_AUTHENTICATION = ['client_secret_post', 'client_secret_basic'];

/**
 * GET /.well-known/oauth-authorization-server (protocol 4.7, RFC 8414), for applications' client libraries.
 * Introspection is not announced: it refuses every application (docs/introspection.md).
 */
export function metadata(app: App): HttpResponse {
  const { baseUrl } = app.config;
  const body = JSON.stringify({
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    userinfo_endpoint: `${baseUrl}/oauth/userinfo`,
    service_documentation: `${baseUrl}/docs`,
    scopes_supported: scopeNames(),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
    revocation_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
    authorization_response_iss_parameter_supported: true,
    claims_supported: PROFILE_FIELDS.map(({ claim }) => claim),
  });
  return withHeaders(jsonResponse(body), { 'cache-control': 'public, max-age=300' });
}
