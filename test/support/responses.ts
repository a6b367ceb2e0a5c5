import assert from 'node:assert/strict';
import type { Reply, Service, TestClient, Tokens } from './service.ts';

/**
 * An error of the protocol: its status, `error` with a sentence, where its reason can be read if there is
 * such a place, and nothing else; kept by no cache.
 */
export function assertError(answer: Reply, status: number, error: string): void {
  assert.equal(answer.body.error, error, `${answer.status} ${answer.text}`);
  assert.equal(answer.status, status);
  const id = answer.headers.get('x-request-id');
  assert.deepEqual(Object.keys(answer.body), ['error', 'error_description', ...(id ? ['error_uri'] : [])]);
  if (id) assert.ok(String(answer.body.error_uri).endsWith(`/errors/${id}`));
  assert.equal(typeof answer.body.error_description, 'string');
  assertNotCached(answer);
}

/** What an answer says, but for the id of the request itself. */
export const saidBy = ({ text, headers }: Reply): string =>
  text.replace(headers.get('x-request-id') ?? '', '');

export const assertInvalidRequest = (answer: Reply): void => assertError(answer, 400, 'invalid_request');
export const assertInvalidGrant = (answer: Reply): void => assertError(answer, 400, 'invalid_grant');
export const assertInvalidScope = (answer: Reply): void => assertError(answer, 400, 'invalid_scope');

export function assertInvalidClient(answer: Reply): void {
  assertError(answer, 401, 'invalid_client');
  assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic\b/);
}

export function assertInvalidToken(answer: Reply): void {
  assertError(answer, 401, 'invalid_token');
  assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer\b/);
}

export function assertReused(answer: Reply): void {
  assertInvalidGrant(answer);
  assert.match(String(answer.body.error_description), /refresh token was already used/i);
}

/** A success of the token endpoint, whole. */
export function assertTokens(answer: Reply, scope = 'profile email'): Tokens {
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body).toSorted(), [
    'access_token',
    'expires_in',
    'refresh_token',
    'scope',
    'token_type',
  ]);
  const tokens = answer.body as Tokens;
  assert.match(tokens.access_token, /^postern_at_[A-Za-z0-9_-]+$/);
  assert.match(tokens.refresh_token, /^postern_rt_[A-Za-z0-9_-]+$/);
  assert.equal(tokens.token_type, 'Bearer');
  assert.equal(tokens.expires_in, 3600);
  assert.equal(tokens.scope, scope);
  assertNotCached(answer);
  return tokens;
}

export function assertRevoked(answer: Reply): void {
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body, { revoked: true });
}

export function assertNotCached(answer: Reply): void {
  assert.equal(answer.headers.get('cache-control'), 'no-store');
}

export const RATE_LIMIT_HEADERS = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'] as const;

export function rateLimitOf(answer: Reply): (number | undefined)[] {
  return RATE_LIMIT_HEADERS.map((name) => {
    const value = answer.headers.get(name);
    return value === null ? undefined : Number(value);
  });
}

export const basic = (clientId: string, clientSecret: string): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

/** Neither token of a session that was cut works. */
export async function assertCut(service: Service, client: TestClient, tokens: Tokens): Promise<void> {
  assertInvalidToken(await service.userinfo(tokens.access_token));
  assertInvalidGrant(await service.refresh(client, tokens.refresh_token));
}

/** Both tokens work; returns the ones that the refresh token bought. */
export async function assertAlive(service: Service, client: TestClient, tokens: Tokens): Promise<Tokens> {
  assert.equal((await service.userinfo(tokens.access_token)).status, 200);
  return assertTokens(await service.refresh(client, tokens.refresh_token));
}
