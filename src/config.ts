import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { parsePostgresUrl } from './postgres-url.ts';
import { readTraceSettings, type TraceSettings } from './trace-config.ts';

/** Settings of a running Postern, validated and frozen. docs/settings.md explains each to the operator. */
export type Config = {
  readonly host: string;
  readonly port: number;
  /** An origin without a trailing slash, such as `https://id.example`. */
  readonly baseUrl: string;
  /** `sqlite:PATH` or `postgres://…`. */
  readonly databaseUrl: string;
  /** Maximum number of connections that a process opens to PostgreSQL. */
  readonly databaseConnections: number;
  /** Max open HTTP connections of this process; further ones are closed at once. */
  readonly maxConnections: number;
  /** An absolute path. */
  readonly dataDir: string;
  /** Undefined: created on first start and kept in the data folder. */
  readonly secret: string | undefined;
  /** Milliseconds; the setting is in seconds, and so are the next two. */
  readonly codeTtlMs: number;
  readonly accessTokenTtlMs: number;
  readonly refreshTokenTtlMs: number;
  /** Requests per application and minute (protocol 8.1). */
  readonly rateLimit: number;
  /** Applications that a user may create per hour (protocol 8.3). */
  readonly appCreationLimit: number;
  /** 1: trust the last address in X-Forwarded-For; text: trust proxies with these addresses, separated by commas. */
  readonly trustProxy: false | 1 | string;
  /** How long a stopping service still accepts requests, while /health is 503. */
  readonly drainDelayMs: number;
  /** Undefined: mail is written to the outbox in the data folder. */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly logLevel: LogLevel;
  /** Undefined: no metrics. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** Undefined: no traces. */
  readonly traces: TraceSettings | undefined;
};

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** All faults of the configuration at once, in words. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `${faults.length} ${faults.length === 1 ? 'problem' : 'problems'} in the configuration:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

export const MIN_SECRET_BYTES = 32;
const YEAR_SECONDS = 365 * 24 * 3600;

export function readConfig(env: Environment): Config {
  const faults: string[] = [];
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;
  const integer = (name: string, fallback: number, min: number, max: number): number => {
    const raw = text(name);
    if (raw === undefined) return fallback;
    const value = Number(raw);
    if (/^\d{1,10}$/.test(raw) && value >= min && value <= max) return value;
    faults.push(`${name} must be a whole number from ${min} to ${max}; it is "${raw}".`);
    return fallback;
  };

  const dataDir = resolve(text('POSTERN_DATA_DIR') ?? 'data');
  const port = integer('POSTERN_PORT', 3000, 0, 65_535);
  const trusted = trustProxy(text('POSTERN_TRUST_PROXY'), faults);
  const config: Config = {
    host: text('POSTERN_HOST') ?? '127.0.0.1',
    port,
    baseUrl: baseUrl(text('POSTERN_BASE_URL') ?? `http://localhost:${port}`, faults),
    databaseUrl: databaseUrl(
      text('POSTERN_DATABASE_URL') ?? `sqlite:${resolve(dataDir, 'postern.db')}`,
      faults,
    ),
    databaseConnections: integer('POSTERN_DATABASE_CONNECTIONS', 10, 1, 1000),
    maxConnections: integer('POSTERN_MAX_CONNECTIONS', 5_000, 1, 1_000_000),
    dataDir,
    secret: secret(text('POSTERN_SECRET'), faults),
    codeTtlMs: integer('POSTERN_CODE_TTL', 300, 1, 600) * 1000,
    accessTokenTtlMs: integer('POSTERN_ACCESS_TOKEN_TTL', 3600, 1, YEAR_SECONDS) * 1000,
    refreshTokenTtlMs: integer('POSTERN_REFRESH_TOKEN_TTL', 2_592_000, 1, YEAR_SECONDS) * 1000,
    rateLimit: integer('POSTERN_RATE_LIMIT', 30, 1, 1_000_000_000),
    appCreationLimit: integer('POSTERN_APP_CREATION_LIMIT', 20, 1, 1_000_000_000),
    trustProxy: trusted,
    // A load balancer needs time to notice; without a proxy nobody would.
    drainDelayMs: integer('POSTERN_DRAIN_DELAY', trusted === false ? 0 : 5, 0, 600) * 1000,
    smtpUrl: smtpUrl(text('POSTERN_SMTP_URL'), faults),
    mailFrom: mailFrom(text('POSTERN_MAIL_FROM'), text('POSTERN_BASE_URL'), faults),
    logLevel: logLevel(text('POSTERN_LOG_LEVEL') ?? 'info', faults),
    metricsPort: text('POSTERN_METRICS_PORT') ? integer('POSTERN_METRICS_PORT', 0, 0, 65_535) : undefined,
    metricsHost: text('POSTERN_METRICS_HOST') ?? '127.0.0.1',
    traces: readTraceSettings(env, faults),
  };
  if (isPostgres(config.databaseUrl) && text('POSTERN_SECRET') === undefined) {
    faults.push(
      'POSTERN_SECRET is missing. With PostgreSQL every node needs the same secret, so none is created automatically. ' +
        'Create one with: openssl rand -base64 48',
    );
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

function baseUrl(raw: string, faults: string[]): string {
  const url = URL.canParse(raw) ? new URL(raw) : undefined;
  const isOrigin = url && ['http:', 'https:'].includes(url.protocol) && url.pathname === '/';
  if (isOrigin && !url.search && !url.hash && !url.username && !url.password) return url.origin;
  faults.push(
    `POSTERN_BASE_URL must be the address that users see, such as https://id.example, without a path; it is "${raw}".`,
  );
  return 'http://localhost';
}

export const isPostgres = (url: string): boolean => /^postgres(ql)?:\/\//.test(url);

function databaseUrl(raw: string, faults: string[]): string {
  if (isDatabaseUrl(raw)) return raw;
  // Not repeated in the message: a database URL may contain a password.
  faults.push(
    'POSTERN_DATABASE_URL must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE, with several hosts separated by commas, and ' +
      'target_session_attrs, if given, read-write, primary or any.',
  );
  return '';
}

export function isDatabaseUrl(raw: string): boolean {
  if (raw.startsWith('sqlite:')) return raw.length > 'sqlite:'.length;
  return parsePostgresUrl(raw) !== undefined;
}

function secret(raw: string | undefined, faults: string[]): string | undefined {
  if (raw === undefined || Buffer.byteLength(raw) >= MIN_SECRET_BYTES) return raw;
  faults.push(
    `POSTERN_SECRET must have at least ${MIN_SECRET_BYTES} bytes. Create one with: openssl rand -base64 48`,
  );
  return undefined;
}

/**
 * `true` trusts the one proxy in front, and only the address that it appended: the client chose the rest
 * of X-Forwarded-For, and rate limits count by address.
 */
function trustProxy(raw: string | undefined, faults: string[]): false | 1 | string {
  if (raw === undefined || raw === 'false') return false;
  if (raw === 'true') return 1;
  if (raw.split(',').every(isNetwork)) return raw;
  faults.push(
    `POSTERN_TRUST_PROXY must be true, false, or addresses such as 10.0.0.0/8,127.0.0.1; it is "${raw}".`,
  );
  return false;
}

function isNetwork(text: string): boolean {
  const [address = '', prefix = '0', ...rest] = text.trim().split('/');
  const version = isIP(address);
  return (
    version !== 0 &&
    rest.length === 0 &&
    /^\d{1,3}$/.test(prefix) &&
    Number(prefix) <= (version === 4 ? 32 : 128)
  );
}

function smtpUrl(raw: string | undefined, faults: string[]): string | undefined {
  if (raw === undefined) return undefined;
  const url = URL.canParse(raw) ? new URL(raw) : undefined;
  if (url?.hostname && ['smtp:', 'smtps:'].includes(url.protocol)) return raw;
  // Not repeated in the message: it contains a password.
  faults.push('POSTERN_SMTP_URL must look like smtp://user:password@mail.example:587 or smtps://….');
  return undefined;
}

/** The sender of mail; by default at the host of the base URL. */
function mailFrom(raw: string | undefined, base: string | undefined, faults: string[]): string {
  const host = base && URL.canParse(base) ? new URL(base).hostname : 'localhost';
  if (raw === undefined) return `Postern <no-reply@${host}>`;
  if (/^([^<>@"\r\n]+ <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(raw)) return raw;
  faults.push(
    `POSTERN_MAIL_FROM must be an address such as no-reply@id.example or Postern <no-reply@id.example>; it is "${raw}".`,
  );
  return '';
}

function logLevel(raw: string, faults: string[]): LogLevel {
  const level = LOG_LEVELS.find((known) => known === raw);
  if (level) return level;
  faults.push(`POSTERN_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}; it is "${raw}".`);
  return 'info';
}
