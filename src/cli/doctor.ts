import { existsSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { loadSecret, secretExists, secretPath } from '../keys/secret-file.ts';
import { sqlitePath } from './database.ts';
import { type Finding, fault, ok, warning } from './doctor-check.ts';
import { checkDatabase } from './doctor-database.ts';
import { addAction, type Result, table } from './output.ts';

const NETWORK_TIMEOUT_MS = 3_000;
const MARK = { ok: 'ok', warning: 'WARNING', fault: 'FAULT' } as const;

export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('check settings, database, keys, files, mail and proxy, and say how to fix what is wrong')
    .addHelpText('after', '\nIt changes nothing. The exit code is 1 when there is a fault.');
  addAction(command, doctor);
}

async function doctor(): Promise<Result> {
  const findings = await runChecks();
  if (findings.some(({ level }) => level === 'fault')) process.exitCode = 1;
  const rows = findings.flatMap(({ level, what, advice }) => [
    [MARK[level], what],
    ...(advice ? [['', `→ ${advice}`]] : []),
  ]);
  return { text: table(rows), json: findings };
}

async function runChecks(): Promise<Finding[]> {
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
    await checkDatabase(config),
    await reachability(config),
    await mail(process.env.POSTERN_SMTP_URL),
  ];
  return groups.flat();
}

/** A heuristic: random text uses many different characters, typed text few. */
function secretStrength(config: Config): Finding[] {
  if (!secretExists(config)) return [ok('There is no secret yet: the first start creates one.')];
  if (new Set(loadSecret(config)).size >= 16) return [ok('The secret is long and looks random.')];
  return [
    fault(
      'The secret does not look random.',
      'Create one with: openssl rand -base64 48   (before you change it: docs/operations.md)',
    ),
  ];
}

function fileModes(config: Config): Finding[] {
  const database = sqlitePath(config);
  const paths = [config.dataDir, secretPath(config), ...(database ? [dirname(database), database] : [])];
  const open = [...new Set(paths)].filter((path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0);
  if (open.length === 0) return [ok('No other account can read the data files.')];
  return open.map((path) => fault(`Other accounts have access to ${path}.`, `chmod go-rwx ${path}`));
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
        'All clients appear to have the address of the https proxy.',
        'Set POSTERN_TRUST_PROXY to true, or to the addresses of the proxies.',
      ),
    );
  }
  if (config.trustProxy === 1 && !isLoopback(config.host)) {
    findings.push(
      warning(
        `A client that reaches ${config.host}:${config.port} without the proxy can claim any address.`,
        "Make it reachable for the proxy only, or set POSTERN_TRUST_PROXY to the proxy's addresses.",
      ),
    );
  }
  return findings.length > 0 ? findings : [ok('The base URL and the proxy settings are consistent.')];
}

const isLoopback = (host: string): boolean => /^(localhost$|127\.|\[?::1\]?$)/.test(host);

/** Reads the metadata as a client would, and compares its issuer with the settings. */
async function reachability({ baseUrl }: Config): Promise<Finding[]> {
  try {
    const response = await fetch(`${baseUrl}/.well-known/oauth-authorization-server`, {
      signal: AbortSignal.timeout(NETWORK_TIMEOUT_MS),
    });
    const { issuer } = (await response.json()) as { issuer?: string };
    if (issuer === baseUrl) return [ok(`${baseUrl} responds.`)];
  } catch {
    const advice = 'Start the service, or check the host name, the proxy and the firewall.';
    return [warning(`${baseUrl} cannot be reached from here.`, advice)];
  }
  return [fault(`Something else responds at ${baseUrl}.`, 'Check POSTERN_BASE_URL and the proxy.')];
}

async function mail(url: string | undefined): Promise<Finding[]> {
  if (!url?.trim())
    return [
      warning('POSTERN_SMTP_URL is not set: no mail is sent.', 'Set it to smtp://USER:PASSWORD@HOST:PORT.'),
    ];
  if (!URL.canParse(url)) return [fault('POSTERN_SMTP_URL is not a URL.', 'It looks like smtp://HOST:587.')];
  const { hostname, port, protocol } = new URL(url);
  const implicitTls = protocol === 'smtps:';
  const greeted = await mailServerResponds(hostname, Number(port) || (implicitTls ? 465 : 587), implicitTls);
  if (greeted) return [ok(`The mail server ${hostname} responds.`)];
  return [fault(`The mail server ${hostname} does not respond.`, 'Check POSTERN_SMTP_URL and the firewall.')];
}

/** A mail server greets with 220 (RFC 5321 3.1). With implicit TLS it waits for the client: a connection is enough. */
function mailServerResponds(host: string, port: number, implicitTls: boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: NETWORK_TIMEOUT_MS });
    const finish = (responds: boolean) => {
      socket.destroy();
      resolve(responds);
    };
    socket.once('connect', () => implicitTls && finish(true));
    socket.once('data', (bytes) => finish(bytes.toString('latin1').startsWith('220')));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
  });
}
