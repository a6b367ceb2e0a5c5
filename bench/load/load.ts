/** A run for the load client. */
export type Load = {
  /** Connections are distributed over them. */
  readonly ports: readonly number[];
  readonly connections: number;
  readonly seconds: number;
  readonly requests: Requests;
};

export type Requests =
  /** Complete HTTP messages, repeated. */
  | { readonly kind: 'repeat'; readonly messages: readonly string[] }
  /** Complete HTTP messages, each sent once; the run ends early when none are left. */
  | { readonly kind: 'once'; readonly messages: readonly string[] }
  /** Refresh tokens, each replaced by its successor. Every connection has its own share of them. */
  | {
      readonly kind: 'rotate';
      readonly head: string;
      readonly form: string;
      readonly tokens: readonly string[];
    };

export type LoadResult = {
  /** Responses with status 200 before the deadline. */
  readonly requests: number;
  /** All responses with status 200: the last one of each connection arrives after the deadline. */
  readonly completed: number;
  readonly seconds: number;
  readonly failures: number;
  /** The first response with another status. */
  readonly failure: string | undefined;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU time of the load client, as a share of one core. */
  readonly clientCpu: number;
  /** The last message and response of each connection, for the correctness checks. */
  readonly last: readonly Exchange[];
};

export type Exchange = { readonly message: string; readonly body: string };
