import type { RevokedReason } from './store.ts';

/** What is kept around an account besides the user: part of the store's interface (store.ts). */

// ---- what is sent by mail -------------------------------------------------------------------

/** An account that somebody asked for and that begins when its address is proven. */
export type SignUp = {
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
  readonly browserHash: string;
};

export type NewSignUp = SignUp & { readonly tokenHash: string; readonly expiresAt: number };

export interface SignUpStore {
  create(signUp: NewSignUp): Promise<void>;
  find(tokenHash: string, now: number): Promise<SignUp | undefined>;
  /** Returns it once and never again. */
  take(tokenHash: string, now: number): Promise<SignUp | undefined>;
  sweep(limit: number, now: number): Promise<number>;
}

export type LinkPurpose = 'verify_email' | 'change_email' | 'reset_password';

export interface MailLinkStore {
  create(
    userId: string,
    tokenHash: string,
    purpose: LinkPurpose,
    email: string,
    expiresAt: number,
  ): Promise<void>;
  /** The address that a live link was made for. */
  find(userId: string, tokenHash: string, purpose: LinkPurpose, now: number): Promise<string | undefined>;
  /** The same, once and never again. */
  take(userId: string, tokenHash: string, purpose: LinkPurpose, now: number): Promise<string | undefined>;
  sweep(limit: number, now: number): Promise<number>;
}

// ---- what happened to an account ------------------------------------------------------------

export type SecurityEventKind =
  | 'signed_up'
  | 'signed_in'
  | 'failed_sign_ins'
  | 'password_changed'
  | 'password_reset'
  | 'email_verified'
  | 'email_changed'
  | 'session_ended'
  | 'granted'
  | 'disconnected'
  | Extract<RevokedReason, 'refresh_token_reuse' | 'code_replay'>;

export type SecurityEvent = {
  readonly at: number;
  readonly kind: SecurityEventKind;
  readonly clientId: string | null;
  readonly address: string;
  readonly userAgent: string;
};

/** Two events of one id are one event. */
export type NewSecurityEvent = Omit<SecurityEvent, 'clientId'> & {
  readonly userId: string;
  readonly id: string;
  readonly clientId?: string;
};

export interface SecurityEventStore {
  record(event: NewSecurityEvent): Promise<void>;
  list(userId: string, limit: number): Promise<SecurityEvent[]>;
  sweep(limit: number, before: number): Promise<number>;
}
