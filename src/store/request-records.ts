/** What is kept of applications' requests, for their developers: part of the store's interface (store.ts). */

export const LOGGED_ENDPOINTS = ['authorize', 'token', 'revoke'] as const;
export type LoggedEndpoint = (typeof LOGGED_ENDPOINTS)[number];

/** What makes a reason exact. Never a credential: of one at most its last four characters. */
export type LogDetails = Readonly<Record<string, string | number | undefined>>;

export type LogEntry = {
  readonly clientId: string;
  /** The request's id; ids sort by time. */
  readonly id: string;
  readonly at: number;
  readonly endpoint: LoggedEndpoint;
  /** The application had authenticated who it is. What has not is anybody's. */
  readonly authenticated: boolean;
  /** The error the client was told; empty for a success. */
  readonly error: string;
  readonly reason: string;
  /** The end of the grant's id, and which link of it was presented. */
  readonly grantTail: string | null;
  readonly generation: number | null;
  readonly details: LogDetails;
  readonly address: string;
  readonly userAgent: string;
  readonly latencyUs: number;
};

export type LogFilter = {
  readonly outcome?: 'success' | 'failure' | undefined;
  readonly endpoint?: LoggedEndpoint | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only what is older than the entry with this id: the next page. */
  readonly before?: string | undefined;
};

export type RetiredSecret = { readonly retiredAt: number; readonly retiredReason: 'removed' | 'expired' };

/** One time that a credential of a grant was shown. */
export type Presentation = Pick<
  LogEntry,
  'id' | 'at' | 'endpoint' | 'error' | 'reason' | 'generation' | 'address' | 'userAgent'
>;

export type Incident = {
  readonly clientId: string;
  /** The id of the request that cut the grant. */
  readonly id: string;
  readonly at: number;
  readonly kind: 'refresh_token_reuse' | 'code_replay';
  readonly grantTail: string;
  /** The link that came twice. */
  readonly generation: number;
  readonly presentations: readonly Presentation[];
};

export interface RequestLogStore {
  write(entries: readonly LogEntry[]): Promise<void>;
  /** Keeps the newest of an application's entries. */
  trim(clientId: string, authenticated: boolean, keep: number): Promise<void>;
  /** Newest first. */
  list(clientId: string, filter: LogFilter, limit: number): Promise<LogEntry[]>;
  find(clientId: string, id: string): Promise<LogEntry | undefined>;
  /** Every entry of one grant that is still there, oldest first. */
  listByGrant(clientId: string, session: string): Promise<LogEntry[]>;
  /** Which of the owner's applications an entry belongs to. */
  findClientId(ownerId: string, id: string): Promise<string | undefined>;
  findRetiredSecret(clientId: string, hash: string): Promise<RetiredSecret | undefined>;
  recordIncident(incident: Incident): Promise<void>;
  /** Newest first. */
  listIncidents(clientId: string, limit: number): Promise<Incident[]>;
  findIncident(clientId: string, id: string): Promise<Incident | undefined>;
  sweep(limit: number, before: number): Promise<void>;
}

/** Requests of one hour with one result. */
export type UsageHour = {
  readonly clientId: string;
  readonly hour: number;
  /** Empty for a success. */
  readonly reason: string;
  readonly requests: number;
  /** How much of the limit was used at most. */
  readonly peak: number;
};

/** One register of a day's sketch of its users (src/protocol/distinct-count.ts). */
export type UserRegister = {
  readonly clientId: string;
  readonly day: number;
  readonly register: number;
  readonly value: number;
};

export interface UsageStore {
  addHours(hours: readonly UsageHour[]): Promise<void>;
  raiseRegisters(registers: readonly UserRegister[]): Promise<void>;
  hours(clientId: string, since: number): Promise<UsageHour[]>;
  registers(clientId: string, since: number): Promise<UserRegister[]>;
  sweep(limit: number, before: number): Promise<void>;
}
