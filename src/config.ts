import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { readTraceSettings, type TraceSettings } from './trace-config.ts';

/** Settings of a running Postern, checked and frozen. docs/settings.md explains each to the operator. */
export type Config = {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string;
  readonly databaseUrl: string;
  /** Connections a process opens to PostgreSQL at most. */
  readonly databaseConnections: number;
  readonly dataDir: string;
  /** Undefined: made on first start and kept in the data folder. */
  readonly secret: string | undefined;
  readonly codeTtlMs: number;
  readonly accessTokenTtlMs: number;
  readonly refreshTokenTtlMs: number;
  readonly rateLimit: number;
  /** Applications that one user may create in an hour. */
  readonly appCreationLimit: number;
  /** How many proxies to believe, or which. */
  readonly trustProxy: false | 1 | string;
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
export type LogLevel = (typeof LOG_LEVELS)[number];

/** All faults of a configuration at once, in words. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

export const MIN_SECRET_BYTES = 32;
const YEAR = 365 * 24 * 3600;

export function readConfig(env: Environment): Config {
  const faults: string[] = [];
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;
  const integer = (name: string, fallback: number, least: number, most: number): number => {
    const raw = text(name);
    if (raw === undefined) return fallback;
    const value = Number(raw);
    if (/^\d{1,10}$/.test(raw) && value >= least && value <= most) return value;
    faults.push(`${name} must be a whole number from ${least} to ${most}; it is "${raw}".`);
    return fallback;
  };

  const dataDir = resolve(text('POSTERN_DATA_DIR') ?? 'data');
  const port = integer('POSTERN_PORT', 3000, 0, 65_535);
  const config: Config = {
    host: text('POSTERN_HOST') ?? '127.0.0.1',
    port,
    baseUrl: baseUrl(text('POSTERN_BASE_URL') ?? `http://localhost:${port}`, faults),
    databaseUrl: databaseUrl(
      text('POSTERN_DATABASE_URL') ?? `sqlite:${resolve(dataDir, 'postern.db')}`,
      faults,
    ),
    databaseConnections: integer('POSTERN_DATABASE_CONNECTIONS', 10, 1, 1000),
    dataDir,
    secret: secret(text('POSTERN_SECRET'), faults),
    codeTtlMs: integer('POSTERN_CODE_TTL', 300, 1, 600) * 1000,
    accessTokenTtlMs: integer('POSTERN_ACCESS_TOKEN_TTL', 3600, 1, YEAR) * 1000,
    refreshTokenTtlMs: integer('POSTERN_REFRESH_TOKEN_TTL', 2_592_000, 1, YEAR) * 1000,
    rateLimit: integer('POSTERN_RATE_LIMIT', 30, 1, 1_000_000_000),
    appCreationLimit: integer('POSTERN_APP_CREATION_LIMIT', 20, 1, 1_000_000_000),
    trustProxy: trustProxy(text('POSTERN_TRUST_PROXY'), faults),
    smtpUrl: smtpUrl(text('POSTERN_SMTP_URL'), faults),
    mailFrom: mailFrom(text('POSTERN_MAIL_FROM'), text('POSTERN_BASE_URL'), faults),
    logLevel: logLevel(text('POSTERN_LOG_LEVEL') ?? 'info', faults),
    metricsPort: text('POSTERN_METRICS_PORT') ? integer('POSTERN_METRICS_PORT', 0, 0, 65_535) : undefined,
    metricsHost: text('POSTERN_METRICS_HOST') ?? '127.0.0.1',
    traces: readTraceSettings(env, faults),
  };
  if (isPostgres(config.databaseUrl) && text('POSTERN_SECRET') === undefined) {
    faults.push(
      'POSTERN_SECRET is missing. With PostgreSQL every node needs the same one, so none is made by itself; ' +
        '`openssl rand -base64 48` makes a good one.',
    );
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

function baseUrl(raw: string, faults: string[]): string {
  const url = URL.canParse(raw) ? new URL(raw) : undefined;
  const plain = url && ['http:', 'https:'].includes(url.protocol) && url.pathname === '/';
  if (plain && !url.search && !url.hash && !url.username && !url.password) return url.origin;
  faults.push(
    `POSTERN_BASE_URL must be the address users see, such as https://id.example, without a path; it is "${raw}".`,
  );
  return 'http://localhost';
}

export const isPostgres = (url: string): boolean => /^postgres(ql)?:\/\//.test(url);

function databaseUrl(raw: string, faults: string[]): string {
  if (databaseUrlIsRight(raw)) return raw;
  // A database URL may hold a password, so it is never repeated.
  faults.push('POSTERN_DATABASE_URL must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE.');
  return '';
}

export function databaseUrlIsRight(raw: string): boolean {
  if (raw.startsWith('sqlite:')) return raw.length > 'sqlite:'.length;
  return isPostgres(raw) && URL.canParse(raw);
}

function secret(raw: string | undefined, faults: string[]): string | undefined {
  if (raw === undefined || Buffer.byteLength(raw) >= MIN_SECRET_BYTES) return raw;
  faults.push(
    `POSTERN_SECRET must be at least ${MIN_SECRET_BYTES} bytes; \`openssl rand -base64 48\` makes a good one.`,
  );
  return undefined;
}

/**
 * `true` believes the one proxy in front. Not more: a longer X-Forwarded-For is what its sender
 * made of it, and the address decides who is counted against which limit.
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
  // It holds a password, so it is never repeated.
  faults.push('POSTERN_SMTP_URL must be such as smtp://user:password@mail.example:587 or smtps://….');
  return undefined;
}

/** The address that mail comes from; by default of the host that users know. */
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
