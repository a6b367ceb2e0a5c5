import type { ErrorCode } from '../../protocol/errors.ts';
import type { Schema } from '../../protocol/openapi-document.ts';
import { PROFILE_FIELDS, type ProfileField } from '../../protocol/profile.ts';
import { scopeNames } from '../../protocol/scope.ts';

/** Error codes that an application can receive in a JSON body (protocol 7). */
const ERROR_CODES: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unsupported_grant_type',
  'invalid_token',
  'rate_limit_exceeded',
  'server_error',
  'temporarily_unavailable',
];

export const ref = (name: keyof typeof SCHEMAS): Schema => ({ $ref: `#/components/schemas/${name}` });

const string = (description: string, more: Partial<Schema> = {}): Schema => ({
  type: 'string',
  description,
  ...more,
});

const SCOPE = string(`Names separated by spaces: ${scopeNames().join(', ')}.`);

/** In the body or in an HTTP Basic header, never in both (RFC 6749 2.3). */
const CLIENT = {
  client_id: string('Application identifier. Required unless sent by HTTP Basic.', { maxLength: 64 }),
  client_secret: string('Application secret. Required unless sent by HTTP Basic.'),
};

const CLAIMS: Record<string, Schema> = Object.fromEntries(
  PROFILE_FIELDS.map((field) => [field.claim, claimSchema(field)]),
);

function claimSchema({ type, description, scope, note, format }: ProfileField): Schema {
  const texts = [description, scope && `Scope ${scope}.`, note];
  return { type, description: texts.filter(Boolean).join(' '), ...(format && { format }) };
}

export const SCHEMAS = {
  CodeExchange: {
    type: 'object',
    title: 'grant_type=authorization_code',
    required: ['grant_type', 'code', 'redirect_uri', 'code_verifier'],
    properties: {
      grant_type: { ...string('Which grant this is.'), const: 'authorization_code' },
      code: string('The code from the redirect. Single use, valid 5 minutes.'),
      redirect_uri: string('Character for character the one sent to /oauth/authorize.'),
      code_verifier: string(
        'What the code_challenge was made of (RFC 7636). Absent or wrong: invalid_grant.',
        {
          pattern: '^[A-Za-z0-9._~-]{43,128}$',
        },
      ),
      ...CLIENT,
    },
  },
  Refresh: {
    type: 'object',
    title: 'grant_type=refresh_token',
    required: ['grant_type', 'refresh_token'],
    properties: {
      grant_type: { ...string('Which grant this is.'), const: 'refresh_token' },
      refresh_token: string(
        'The most recent refresh token. It is consumed: one that is presented again cuts the whole session.',
      ),
      scope: string(
        'Fewer scopes than were granted, for the new access token alone. More than granted: invalid_scope.',
      ),
      ...CLIENT,
    },
  },
  TokenResponse: {
    type: 'object',
    required: ['access_token', 'refresh_token', 'token_type', 'expires_in', 'scope'],
    properties: {
      access_token: string('Opaque bearer credential.'),
      refresh_token: string('Renews the tokens, once. Valid 30 days, renewed at each rotation.'),
      token_type: { ...string('How the access token is presented.'), const: 'Bearer' },
      expires_in: {
        type: 'integer',
        minimum: 1,
        description: 'Lifetime of the access token in seconds; 3600 unless the operator chose another.',
      },
      scope: { ...SCOPE, description: `What this access token may read. ${SCOPE.description}` },
    },
  },
  Userinfo: { type: 'object', required: ['sub'], properties: CLAIMS },
  Revocation: {
    type: 'object',
    required: ['token'],
    properties: {
      token: string(
        'A refresh token: its whole session ends, access tokens included. An access token: it alone ends.',
      ),
      token_type_hint: string('Only a hint; both kinds are looked for.'),
      ...CLIENT,
    },
  },
  RevocationResponse: {
    type: 'object',
    required: ['revoked'],
    properties: { revoked: { type: 'boolean', const: true, description: 'Whatever became of it.' } },
  },
  Error: {
    type: 'object',
    required: ['error', 'error_description'],
    properties: {
      error: { type: 'string', enum: ERROR_CODES, description: 'What to act on.' },
      error_description: string('A sentence for the developer. Fixed: it never repeats what was sent.'),
      error_uri: string(
        'Of token and revocation: where the developer of the application, signed in, reads exactly why.',
        { format: 'uri' },
      ),
    },
  },
} as const satisfies Record<string, Schema>;
