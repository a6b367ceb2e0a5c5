/** What the load client is asked to do, and what it tells afterwards. */
export type Load = {
  /** Connections are spread over them. */
  readonly ports: readonly number[];
  readonly connections: number;
  readonly seconds: number;
  readonly requests: Requests;
};

export type Requests =
  /** Whole HTTP messages, over and over. */
  | { readonly kind: 'repeat'; readonly messages: readonly string[] }
  /** Whole HTTP messages, each sent once; the run ends early when all are spent. */
  | { readonly kind: 'once'; readonly messages: readonly string[] }
  /** Refresh tokens, each exchanged for its successor. A connection keeps to its own share of them. */
  | {
      readonly kind: 'rotate';
      readonly head: string;
      readonly form: string;
      readonly tokens: readonly string[];
    };

export type LoadResult = {
  /** Answered 200 within the time. */
  readonly requests: number;
  /** Answered 200 at all: the last of each connection come after the time. */
  readonly answered: number;
  readonly seconds: number;
  readonly failures: number;
  /** The first answer that was not 200. */
  readonly failure: string | undefined;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU time the load client itself spent, as a share of one core. */
  readonly clientCpu: number;
  /** The last message and answer of each connection, to be checked. */
  readonly last: readonly Exchange[];
};

export type Exchange = { readonly message: string; readonly body: string };
