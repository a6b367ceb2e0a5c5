import assert from 'node:assert/strict';
import type { Reply, Service, TestClient, Tokens } from './service.ts';

/**
 * A protocol error (protocol 7): status, `error`, `error_description`, `error_uri` where logged, and no other field.
 * Not cacheable.
 */
export function assertError(response: Reply, status: number, error: string): void {
  assert.equal(response.body.error, error, `${response.status} ${response.text}`);
  assert.equal(response.status, status);
  const id = response.headers.get('x-request-id');
  assert.deepEqual(Object.keys(response.body), ['error', 'error_description', ...(id ? ['error_uri'] : [])]);
  if (id) assert.ok(String(response.body.error_uri).endsWith(`/errors/${id}`));
  assert.equal(typeof response.body.error_description, 'string');
  assertNotCached(response);
}

/** The body without the id of its request. */
export const textWithoutRequestId = ({ text, headers }: Reply): string =>
  text.replace(headers.get('x-request-id') ?? '', '');

export const assertInvalidRequest = (response: Reply): void => assertError(response, 400, 'invalid_request');
export const assertInvalidGrant = (response: Reply): void => assertError(response, 400, 'invalid_grant');
export const assertInvalidScope = (response: Reply): void => assertError(response, 400, 'invalid_scope');

export function assertInvalidClient(response: Reply): void {
  assertError(response, 401, 'invalid_client');
  assert.match(response.headers.get('www-authenticate') ?? '', /^Basic\b/);
}

export function assertInvalidToken(response: Reply): void {
  assertError(response, 401, 'invalid_token');
  assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer\b/);
}

export function assertReused(response: Reply): void {
  assertInvalidGrant(response);
  assert.match(String(response.body.error_description), /refresh token was already used/i);
}

/** A complete success response of the token endpoint. */
export function assertTokens(response: Reply, scope = 'profile email'): Tokens {
  assert.equal(response.status, 200, response.text);
  assert.deepEqual(Object.keys(response.body).toSorted(), [
    'access_token',
    'expires_in',
    'refresh_token',
    'scope',
    'token_type',
  ]);
  const tokens = response.body as Tokens;
  assert.match(tokens.access_token, /^postern_at_[A-Za-z0-9_-]+$/);
  assert.match(tokens.refresh_token, /^postern_rt_[A-Za-z0-9_-]+$/);
  assert.equal(tokens.token_type, 'Bearer');
  assert.equal(tokens.expires_in, 3600);
  assert.equal(tokens.scope, scope);
  assertNotCached(response);
  return tokens;
}

export function assertRevoked(response: Reply): void {
  assert.equal(response.status, 200, response.text);
  assert.deepEqual(response.body, { revoked: true });
}

export function assertNotCached(response: Reply): void {
  assert.equal(response.headers.get('cache-control'), 'no-store');
}

export const RATE_LIMIT_HEADERS = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'] as const;

export function rateLimitOf(response: Reply): (number | undefined)[] {
  return RATE_LIMIT_HEADERS.map((name) => {
    const value = response.headers.get(name);
    return value === null ? undefined : Number(value);
  });
}

export const basic = (clientId: string, clientSecret: string): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

/** The grant is revoked: neither of its tokens works. */
export async function assertGrantRevoked(
  service: Service,
  client: TestClient,
  tokens: Tokens,
): Promise<void> {
  assertInvalidToken(await service.userinfo(tokens.access_token));
  assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
}

/** Both tokens work; returns the refreshed ones. */
export async function assertTokensWork(
  service: Service,
  client: TestClient,
  tokens: Tokens,
): Promise<Tokens> {
  assert.equal((await service.userinfo(tokens.access_token)).status, 200);
  return assertTokens(await service.refresh(client, tokens.refresh_token));
}
