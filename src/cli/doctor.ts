import { existsSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { loadSecret, secretExists, secretPath } from '../keys/secret-file.ts';
import { sqlitePath } from './database.ts';
import { type Finding, fault, ok, warning } from './doctor-check.ts';
import { examineDatabase } from './doctor-database.ts';
import { addAction, type Result, table } from './output.ts';

const NETWORK_MS = 3_000;
const MARK = { ok: 'ok', warning: 'WARNING', fault: 'FAULT' } as const;

export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description(
      'check settings, database, keys, files, mail and proxy, and say what to do about each finding',
    )
    .addHelpText('after', '\nIt changes nothing. The exit code is 1 when there is a fault.');
  addAction(command, doctor);
}

async function doctor(): Promise<Result> {
  const findings = await examine();
  if (findings.some(({ level }) => level === 'fault')) process.exitCode = 1;
  const rows = findings.flatMap(({ level, what, advice }) => [
    [MARK[level], what],
    ...(advice ? [['', `→ ${advice}`]] : []),
  ]);
  return { text: table(rows), json: findings };
}

async function examine(): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map((text) => fault(text, 'See docs/settings.md.'));
  }
  const groups = [
    [ok('The settings can be read.')],
    secretStrength(config),
    fileModes(config),
    addresses(config),
    await examineDatabase(config),
    await reachability(config),
    await mail(process.env.POSTERN_SMTP_URL),
  ];
  return groups.flat();
}

/** A guess: random text uses many different characters, what people type few. */
function secretStrength(config: Config): Finding[] {
  if (!secretExists(config)) return [ok('There is no secret yet: the first start makes one.')];
  if (new Set(loadSecret(config)).size >= 16) return [ok('The secret is long and looks random.')];
  return [
    fault(
      'The secret does not look random.',
      'Make one with: openssl rand -base64 48   (docs/operations.md says what changing it means)',
    ),
  ];
}

function fileModes(config: Config): Finding[] {
  const database = sqlitePath(config);
  const paths = [config.dataDir, secretPath(config), ...(database ? [dirname(database), database] : [])];
  const open = [...new Set(paths)].filter((path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0);
  if (open.length === 0) return [ok('No other account can read its files.')];
  return open.map((path) => fault(`Other accounts may use ${path}.`, `chmod go-rwx ${path}`));
}

function addresses(config: Config): Finding[] {
  const findings: Finding[] = [];
  const { protocol, hostname } = new URL(config.baseUrl);
  if (protocol === 'http:' && !isLoopback(hostname)) {
    findings.push(
      fault(
        `Users reach ${config.baseUrl} without encryption.`,
        'Put a proxy with TLS in front and set POSTERN_BASE_URL to its https address.',
      ),
    );
  }
  if (protocol === 'https:' && config.trustProxy === false) {
    findings.push(
      warning(
        'Every client seems to have the address of the proxy that speaks https.',
        'Set POSTERN_TRUST_PROXY to true, or to the addresses of the proxies.',
      ),
    );
  }
  if (config.trustProxy === 1 && !isLoopback(config.host)) {
    findings.push(
      warning(
        `Who reaches ${config.host}:${config.port} without the proxy can claim any address.`,
        'Let only the proxy reach it, or set POSTERN_TRUST_PROXY to the proxy’s addresses.',
      ),
    );
  }
  return findings.length > 0 ? findings : [ok('Base URL and proxy settings fit together.')];
}

const isLoopback = (host: string): boolean => /^(localhost$|127\.|\[?::1\]?$)/.test(host);

/** Asks the way a client would, and compares the answer with the settings. */
async function reachability({ baseUrl }: Config): Promise<Finding[]> {
  try {
    const answer = await fetch(`${baseUrl}/.well-known/oauth-authorization-server`, {
      signal: AbortSignal.timeout(NETWORK_MS),
    });
    const { issuer } = (await answer.json()) as { issuer?: string };
    if (issuer === baseUrl) return [ok(`${baseUrl} answers.`)];
  } catch {
    const advice = 'Start the service, or see to the name, the proxy and the firewall.';
    return [warning(`${baseUrl} cannot be reached from here.`, advice)];
  }
  return [fault(`Something else answers at ${baseUrl}.`, 'Check POSTERN_BASE_URL and the proxy.')];
}

/** A mail server greets with 220 (RFC 5321 3.1). */
async function mail(url: string | undefined): Promise<Finding[]> {
  if (!url?.trim())
    return [
      warning('POSTERN_SMTP_URL is not set: no mail is sent.', 'Set it to smtp://USER:PASSWORD@HOST:PORT.'),
    ];
  if (!URL.canParse(url)) return [fault('POSTERN_SMTP_URL is not a URL.', 'It looks like smtp://HOST:587.')];
  const { hostname, port, protocol } = new URL(url);
  const implicitTls = protocol === 'smtps:';
  const greeting = await firstLine(hostname, Number(port) || (implicitTls ? 465 : 587), implicitTls);
  if (greeting !== undefined) return [ok(`The mail server ${hostname} answers.`)];
  return [fault(`The mail server ${hostname} does not answer.`, 'Check POSTERN_SMTP_URL and the firewall.')];
}

/** What a server says first; empty when it waits for TLS, which a bare connection proves as well. */
function firstLine(host: string, port: number, connectionIsEnough: boolean): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: NETWORK_MS });
    const end = (text: string | undefined) => {
      socket.destroy();
      resolve(text);
    };
    socket.once('connect', () => connectionIsEnough && end(''));
    socket.once('data', (bytes) => end(bytes.toString('latin1').startsWith('220') ? 'greeted' : undefined));
    socket.once('timeout', () => end(undefined));
    socket.once('error', () => end(undefined));
  });
}
