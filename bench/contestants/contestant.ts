import type { Footprint } from '../bulk.ts';
import type { Child } from '../processes.ts';

/** A server under test: how it is started, what it offers, and how credentials come to be there. */
export interface Contestant {
  readonly id: string;
  readonly label: string;
  /** Of each node; one, unless several serve together. */
  readonly ports: readonly number[];
  readonly client: Client;
  /** Who asks about tokens, where that is not the application itself. */
  readonly introspector?: Pick<Client, 'id' | 'secret'>;
  readonly paths: Paths;
  /** Whether the database is the shared PostgreSQL, whose CPU time then counts too. */
  readonly usesPostgres: boolean;
  /** Starts its nodes, one a port. Called again after they ended to measure the start itself. */
  start(): Child[];
  /** Codes with the verifier each needs, not yet used. */
  codes(count: number): Promise<Code[]>;
  refreshTokens(count: number): Promise<string[]>;
  /** Live access tokens that userinfo answers. */
  accessTokens(count: number): Promise<string[]>;
  /** What the database holds now; undefined where there is none. */
  footprint(): Promise<Footprint | undefined>;
  close(): Promise<void>;
}

export type Client = { readonly id: string; readonly secret: string; readonly redirectUri: string };
export type Code = { readonly code: string; readonly verifier: string };
export type Paths = {
  readonly token: string;
  readonly userinfo: string;
  readonly revoke?: string;
  readonly introspect?: string;
};

export const CLIENT: Client = {
  id: 'app_0123456789abcdef01234567',
  secret: 'postern_cs_5b8Zr9n2cXhVtq0LwYk3uJmEo7aFdGs1iPzRxQvTbNc',
  redirectUri: 'https://client.example/callback',
};
