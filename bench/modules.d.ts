/**
 * Types for the packages in bench/package.json, limited to what the benchmark uses, so that `tsc`
 * works where they are not installed.
 */
declare module 'oidc-provider' {
  type Saved = { save(ttl?: number): Promise<string> };
  export interface Adapter {
    upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void>;
    find(id: string): Promise<AdapterPayload | undefined>;
    findByUserCode(userCode: string): Promise<AdapterPayload | undefined>;
    findByUid(uid: string): Promise<AdapterPayload | undefined>;
    consume(id: string): Promise<void>;
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }
  export type AdapterPayload = Record<string, unknown> & { grantId?: string };
  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    listen(port: number, host: string): unknown;
    readonly Client: { find(id: string): Promise<unknown> };
    readonly Grant: new (
      properties: object,
    ) => Saved & { addOIDCScope(scope: string): void };
    readonly AuthorizationCode: new (
      properties: object,
    ) => Saved;
    readonly RefreshToken: new (
      properties: object,
    ) => Saved;
    readonly AccessToken: new (
      properties: object,
    ) => Saved;
  }
}

declare module '@node-oauth/oauth2-server' {
  type Incoming = { headers: object; method: string; query: object; body?: object };
  export class Request {
    constructor(options: Incoming);
  }
  export class Response {
    constructor(options?: object);
    status: number;
    body: object;
    headers: Record<string, string>;
  }
  export default class OAuth2Server {
    constructor(options: { model: object });
    static Request: typeof Request;
    static Response: typeof Response;
    token(request: Request, response: Response, options: object): Promise<unknown>;
    authenticate(request: Request, response: Response): Promise<{ user: Record<string, unknown> }>;
  }
}
