import type { Pool } from 'pg';
import { CLIENT } from '../contestants/contestant.ts';

export const SCHEMA = `
  CREATE TABLE accounts (id text PRIMARY KEY, email text NOT NULL, name text NOT NULL, disabled_at bigint);
  CREATE TABLE codes (
    code text PRIMARY KEY, user_id text NOT NULL, client_id text NOT NULL, scope text NOT NULL,
    redirect_uri text NOT NULL, code_challenge text NOT NULL, expires_at bigint NOT NULL);
  CREATE TABLE access_tokens (
    token text PRIMARY KEY, user_id text NOT NULL, client_id text NOT NULL, scope text NOT NULL,
    expires_at bigint NOT NULL);
  CREATE TABLE refresh_tokens (
    token text PRIMARY KEY, user_id text NOT NULL, client_id text NOT NULL, scope text NOT NULL,
    expires_at bigint NOT NULL);`;

type Row = Record<string, unknown>;
type Token = {
  accessToken: string;
  accessTokenExpiresAt: Date;
  refreshToken: string;
  refreshTokenExpiresAt: Date;
  scope: string[];
};

const REGISTERED_CLIENT = {
  id: CLIENT.id,
  grants: ['authorization_code', 'refresh_token'],
  redirectUris: [CLIENT.redirectUri],
};

/** The model of @node-oauth/oauth2-server: one prepared statement per call, the client in memory. */
export class Model {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async getClient(id: string, secret: string | null): Promise<object | false> {
    return id === CLIENT.id && (secret === null || secret === CLIENT.secret) ? REGISTERED_CLIENT : false;
  }

  async getAuthorizationCode(code: string): Promise<object | undefined> {
    const row = await this.#queryRow(
      'get_code',
      `SELECT c.*, a.email, a.name FROM codes c JOIN accounts a ON a.id = c.user_id
        WHERE c.code = $1 AND a.disabled_at IS NULL`,
      [code],
    );
    return (
      row && {
        ...{
          code,
          redirectUri: row.redirect_uri,
          codeChallenge: row.code_challenge,
          codeChallengeMethod: 'S256',
        },
        ...{ expiresAt: new Date(Number(row.expires_at)), scope: String(row.scope).split(' ') },
        ...{ client: REGISTERED_CLIENT, user: userOf(row) },
      }
    );
  }

  async revokeAuthorizationCode({ code }: { code: string }): Promise<boolean> {
    return (
      (await this.#queryRow('use_code', 'DELETE FROM codes WHERE code = $1 RETURNING code', [code])) !==
      undefined
    );
  }

  async getRefreshToken(refreshToken: string): Promise<object | undefined> {
    const row = await this.#queryRow(
      'get_refresh',
      `SELECT t.*, a.email, a.name FROM refresh_tokens t JOIN accounts a ON a.id = t.user_id
        WHERE t.token = $1 AND a.disabled_at IS NULL`,
      [refreshToken],
    );
    return (
      row && {
        ...{ refreshToken, refreshTokenExpiresAt: new Date(Number(row.expires_at)) },
        ...{ scope: String(row.scope).split(' '), client: REGISTERED_CLIENT, user: userOf(row) },
      }
    );
  }

  async revokeToken({ refreshToken }: { refreshToken: string }): Promise<boolean> {
    const sql = 'DELETE FROM refresh_tokens WHERE token = $1 RETURNING token';
    return (await this.#queryRow('use_refresh', sql, [refreshToken])) !== undefined;
  }

  /** Both tokens in one statement, so one commit. */
  async saveToken(token: Token, client: { id: string }, user: { id: string }): Promise<object> {
    await this.#queryRow(
      'save',
      `WITH access AS (INSERT INTO access_tokens VALUES ($1, $3, $4, $5, $6))
        INSERT INTO refresh_tokens VALUES ($2, $3, $4, $5, $7)`,
      [
        ...[token.accessToken, token.refreshToken, user.id, client.id, token.scope.join(' ')],
        ...[token.accessTokenExpiresAt.getTime(), token.refreshTokenExpiresAt.getTime()],
      ],
    );
    return { ...token, client, user };
  }

  async getAccessToken(accessToken: string): Promise<object | undefined> {
    const row = await this.#queryRow(
      'get_access',
      `SELECT t.*, a.email, a.name FROM access_tokens t JOIN accounts a ON a.id = t.user_id
        WHERE t.token = $1 AND a.disabled_at IS NULL`,
      [accessToken],
    );
    return (
      row && {
        ...{ accessToken, accessTokenExpiresAt: new Date(Number(row.expires_at)) },
        ...{ scope: String(row.scope).split(' '), client: REGISTERED_CLIENT, user: userOf(row) },
      }
    );
  }

  async #queryRow(name: string, text: string, values: unknown[]): Promise<Row | undefined> {
    return (await this.#pool.query({ name, text, values })).rows[0];
  }
}

const userOf = (row: Row) => ({ id: row.user_id, email: row.email, name: row.name });
