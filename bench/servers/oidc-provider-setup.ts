import { generateKeyPairSync } from 'node:crypto';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import type { Pool } from 'pg';
import { CLIENT } from '../contestants/contestant.ts';

export const SCHEMA = `
  CREATE TABLE accounts (id text PRIMARY KEY, email text NOT NULL, name text NOT NULL, disabled_at bigint);
  CREATE TABLE oidc_payloads (
    type text NOT NULL, id text NOT NULL, payload jsonb NOT NULL, grant_id text,
    expires_at timestamptz, consumed_at timestamptz, PRIMARY KEY (type, id));
  CREATE INDEX oidc_payloads_by_grant ON oidc_payloads (grant_id);`;

/**
 * oidc-provider 9 configured for production as documented: an adapter with one prepared statement
 * per call, static clients in memory, opaque tokens, rotating refresh tokens, no development
 * interactions. Refresh and code exchange run without the `openid` scope, so it signs no ID token:
 * Postern issues none either.
 */
export function makeProvider(pool: Pool): Provider {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return new Provider('http://127.0.0.1', {
    adapter: (type: string) => new PostgresAdapter(pool, type),
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [CLIENT.redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] },
    cookies: { keys: ['a key for cookies that are never set'] },
    scopes: ['openid', 'offline_access', 'profile', 'email'],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true },
      revocation: { enabled: true },
    },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 300,
      RefreshToken: 2_592_000,
      Grant: 2_592_000,
      IdToken: 3600,
    },
    findAccount: (_: unknown, id: string) => findAccount(pool, id),
  });
}

async function findAccount(pool: Pool, id: string): Promise<object | undefined> {
  const { rows } = await pool.query({
    name: 'account',
    text: 'SELECT email, name FROM accounts WHERE id = $1 AND disabled_at IS NULL',
    values: [id],
  });
  const [account] = rows;
  if (!account) return undefined;
  const { name, email } = account;
  return { accountId: id, claims: () => ({ sub: id, name, email, email_verified: true }) };
}

class PostgresAdapter implements Adapter {
  readonly #pool: Pool;
  readonly #type: string;

  constructor(pool: Pool, type: string) {
    this.#pool = pool;
    this.#type = type;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const expiresAt = expiresIn ? new Date(Date.now() + expiresIn * 1000) : null;
    await this.#pool.query({
      name: 'upsert',
      text: `INSERT INTO oidc_payloads (type, id, payload, grant_id, expires_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (type, id) DO UPDATE
        SET payload = EXCLUDED.payload, grant_id = EXCLUDED.grant_id, expires_at = EXCLUDED.expires_at`,
      values: [this.#type, id, JSON.stringify(payload), payload.grantId ?? null, expiresAt],
    });
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const { rows } = await this.#pool.query({
      name: 'find',
      text: 'SELECT payload, consumed_at FROM oidc_payloads WHERE type = $1 AND id = $2',
      values: [this.#type, id],
    });
    const [row] = rows;
    if (!row) return undefined;
    const payload = row.payload as AdapterPayload;
    return row.consumed_at === null ? payload : { ...payload, consumed: true };
  }

  async consume(id: string): Promise<void> {
    await this.#pool.query({
      name: 'consume',
      text: 'UPDATE oidc_payloads SET consumed_at = now() WHERE type = $1 AND id = $2',
      values: [this.#type, id],
    });
  }

  async destroy(id: string): Promise<void> {
    await this.#pool.query({
      name: 'destroy',
      text: 'DELETE FROM oidc_payloads WHERE type = $1 AND id = $2',
      values: [this.#type, id],
    });
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#pool.query({
      name: 'revoke',
      text: 'DELETE FROM oidc_payloads WHERE type = $1 AND grant_id = $2',
      values: [this.#type, grantId],
    });
  }

  // Device flow and sessions: not used here.
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
}
