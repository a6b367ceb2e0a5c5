import type { Footprint } from '../bulk.ts';
import type { Child } from '../processes.ts';

/** A server under test: how to start it, which endpoints it has, and how to create credentials in it. */
export interface Contestant {
  readonly id: string;
  readonly label: string;
  /** One per node. */
  readonly ports: readonly number[];
  readonly client: Client;
  /** Credentials for introspection, if they are not the client's. */
  readonly introspector?: Pick<Client, 'id' | 'secret'>;
  readonly paths: Paths;
  /** If true, the CPU time of the shared PostgreSQL counts too. */
  readonly usesPostgres: boolean;
  /** Starts its nodes, one per port. Called several times, to measure cold starts. */
  start(): Child[];
  /** Unused codes with their verifiers. */
  codes(count: number): Promise<Code[]>;
  refreshTokens(count: number): Promise<string[]>;
  /** Active access tokens that userinfo accepts. */
  accessTokens(count: number): Promise<string[]>;
  /** Current size of the database; undefined if there is none. */
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
