import { BODY_TOO_LARGE, protocolError, REUSED_REFRESH_TOKEN } from '../../protocol/errors.ts';
import type { Operation, Parameter, PathItem } from '../../protocol/openapi-document.ts';
import { PROFILE_FIELDS } from '../../protocol/profile.ts';
import { defaultScope, formatScope } from '../../protocol/scope.ts';
import {
  failure,
  htmlPage,
  INVALID_CLIENT,
  INVALID_TOKEN,
  LIMITED,
  LIMITED_IF_NAMED,
  redirection,
  SERVER_ERROR,
  success,
  TOO_LARGE,
  TOO_MANY,
  UNAVAILABLE,
} from './responses.ts';
import { ref, type SCHEMAS } from './schemas.ts';

const query = (name: string, required: boolean, description: string, enumeration?: string[]): Parameter => ({
  name,
  in: 'query',
  required,
  description,
  schema: { type: 'string', ...(enumeration && { enum: enumeration }) },
});

const authorize: Operation = {
  operationId: 'authorize',
  summary: 'Send the user here',
  description:
    'Opened in the user’s browser, never fetched by the application. The user signs in if need be, reads what the application asks for and allows or denies it. The browser then goes to redirect_uri with code, state and iss (RFC 9207), or with error, error_description, state and iss.',
  security: [],
  parameters: [
    query('response_type', true, 'What is asked for.', ['code']),
    query('client_id', true, 'Application identifier.'),
    query('redirect_uri', true, 'Character for character one that the application registered.'),
    query('code_challenge', true, 'BASE64URL(SHA256(code_verifier)), 43 characters (RFC 7636 4.2).'),
    query('code_challenge_method', false, 'S256, also when absent; plain is refused.', ['S256']),
    query('scope', false, 'Names separated by spaces. Absent: all that the application registered.'),
    query('state', false, 'Comes back exactly as sent. Make it unguessable and check it.'),
  ],
  responses: {
    200: htmlPage('The consent screen.'),
    303: redirection('To the sign-in page, or back to redirect_uri', {
      access_denied: 'The user refused at the consent screen',
      invalid_request:
        'A parameter is missing, repeated or malformed, PKCE is missing or its method is not S256',
      invalid_scope: 'scope names something unknown or beyond what the application registered',
      unsupported_response_type: 'response_type is not code',
    }),
    400: htmlPage(
      'A page that says what is wrong when the client_id or the redirect_uri is missing, repeated or not registered, or the application is disabled. Nobody is redirected then (RFC 6749 4.1.2.1).',
    ),
    500: htmlPage('A page that says that the service failed.'),
    503: htmlPage(
      'A page that says that the service is not available right now; Retry-After says when to try again.',
    ),
  },
};

const body = (...schemas: (keyof typeof SCHEMAS)[]): NonNullable<Operation['requestBody']> => {
  const schema = schemas.length === 1 ? ref(schemas[0]!) : { oneOf: schemas.map(ref) };
  return {
    required: true,
    content: { 'application/x-www-form-urlencoded': { schema }, 'application/json': { schema } },
  };
};

const MALFORMED = [
  protocolError('invalid_request'),
  'A parameter is missing, repeated or in the query; the body is neither a form nor a JSON object of strings; or the client authenticates in two ways at once',
] as const;

const token: Operation = {
  operationId: 'token',
  summary: 'Exchange a code, or refresh',
  description:
    'Both grant types answer alike. A refresh token works once: keep the new one before you use the new access token, and never let two requests refresh with the same one.',
  security: [{}, { client: [] }],
  requestBody: body('CodeExchange', 'Refresh'),
  responses: {
    200: success(
      'New tokens',
      'TokenResponse',
      {
        access_token: 'postern_at_…',
        refresh_token: 'postern_rt_…',
        token_type: 'Bearer',
        expires_in: 3600,
        scope: formatScope(defaultScope()),
      },
      LIMITED,
    ),
    400: failure(
      'The request or the grant is refused',
      {
        invalid_request: MALFORMED,
        invalid_grant: [
          protocolError('invalid_grant'),
          'The code or refresh token is invalid, expired or used, belongs to another client_id or redirect_uri, or code_verifier is missing or wrong',
        ],
        refresh_token_reused: [
          protocolError('invalid_grant', REUSED_REFRESH_TOKEN),
          'A consumed refresh token was presented: every token of the session is revoked. Send the user through authorization again',
        ],
        unsupported_grant_type: [
          protocolError('unsupported_grant_type'),
          'grant_type is neither authorization_code nor refresh_token',
        ],
        invalid_scope: [
          protocolError('invalid_scope'),
          'scope asks for more than was granted, or is unknown',
        ],
      },
      LIMITED_IF_NAMED,
    ),
    401: INVALID_CLIENT,
    413: TOO_LARGE(protocolError('invalid_request', BODY_TOO_LARGE, 413)),
    429: TOO_MANY,
    500: SERVER_ERROR,
    503: UNAVAILABLE,
  },
};

const revoke: Operation = {
  operationId: 'revoke',
  summary: 'End a token',
  description:
    'For when the user signs out of the application. The answer is the same whether the token exists, is expired, is revoked already or is unknown. Counts against the same limit as /oauth/token.',
  security: [{}, { client: [] }],
  requestBody: body('Revocation'),
  responses: {
    200: success('Whatever it was, it is not valid now', 'RevocationResponse', { revoked: true }, LIMITED),
    400: failure('The request is malformed', { invalid_request: MALFORMED }, LIMITED_IF_NAMED),
    401: INVALID_CLIENT,
    413: TOO_LARGE(protocolError('invalid_request', BODY_TOO_LARGE, 413)),
    429: TOO_MANY,
    500: SERVER_ERROR,
    503: UNAVAILABLE,
  },
};

const EXAMPLE_CLAIMS = Object.fromEntries(
  PROFILE_FIELDS.flatMap(({ claim, example }) => (example === undefined ? [] : [[claim, example]])),
);

const userinfo: Operation = {
  operationId: 'userinfo',
  summary: 'Read the user’s profile',
  description:
    'The fields that the scope of the presented token opens, read at this moment. The token goes in the Authorization header; in the query or the body it is not looked at. What is not known of a user is left out.',
  security: [{ user: [] }],
  responses: {
    200: success('The profile', 'Userinfo', EXAMPLE_CLAIMS),
    401: INVALID_TOKEN,
    500: SERVER_ERROR,
    503: UNAVAILABLE,
  },
};

export const PATHS: Readonly<Record<string, PathItem>> = {
  '/oauth/authorize': { get: authorize },
  '/oauth/token': { post: token },
  '/oauth/userinfo': { get: userinfo },
  '/oauth/revoke': { post: revoke },
};
