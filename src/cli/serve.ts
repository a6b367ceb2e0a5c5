import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { destination, pino } from 'pino';
import { Mailer } from '../accounts/mail.ts';
import { Passwords } from '../accounts/passwords.ts';
import type { App } from '../app.ts';
import { type Config, readConfig } from '../config.ts';
import { deriveKeys, loadSecret, secretFile } from '../keys.ts';
import { buildServer } from '../server.ts';
import { openStore } from '../store/open.ts';
import { Sweeper } from '../sweeper.ts';
import { CommandFailed } from './output.ts';

const DRAIN_MS = 10_000;

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('start the service (settings: docs/settings.md)')
    .action(() => serve(readConfig(process.env)));
}

async function serve(config: Config): Promise<void> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const firstStart = config.secret === undefined && !existsSync(secretFile(config));
  const log = pino({ level: config.logLevel, base: null }, destination({ sync: false, minLength: 4096 }));
  const app: App = {
    config,
    store: openStore(config.databaseUrl),
    keys: deriveKeys(loadSecret(config)),
    passwords: new Passwords(),
    mailer: new Mailer(config, log),
    now: Date.now,
    log,
  };
  await app.store.migrate();
  const server = buildServer(app);
  await server.listen({ host: config.host, port: config.port }).catch(explainListenError(config));
  const sweeper = new Sweeper(app);
  sweeper.start();
  const flushing = setInterval(() => log.flush(), 1_000).unref();
  greet(config, firstStart);

  const stop = async () => {
    // Requests under way are finished; what has not ended by then is cut off.
    setTimeout(() => process.exit(0), DRAIN_MS).unref();
    clearInterval(flushing);
    await server.close();
    await sweeper.stop();
    await app.mailer.stop();
    await app.store.close();
    log.flush(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

function explainListenError(config: Config): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const where = `${config.host}:${config.port}`;
    if (error.code === 'EADDRINUSE')
      throw new CommandFailed(`${where} is in use. Stop what listens there, or set POSTERN_PORT.`);
    if (error.code === 'EACCES')
      throw new CommandFailed(`This account may not listen on ${where}. Set POSTERN_PORT to 1024 or more.`);
    throw error;
  };
}

/** For the person at the terminal; the log on standard output is for machines. */
function greet(config: Config, firstStart: boolean): void {
  const lines = [`Postern listens on ${config.baseUrl}`, `Data and key: ${config.dataDir}`];
  if (firstStart) lines.push('The key was made just now. Keep a copy: without it every token ends.');
  if (config.smtpUrl === undefined)
    lines.push(
      `Mail is written to ${join(config.dataDir, 'outbox')}; POSTERN_SMTP_URL names a server to send it.`,
    );
  lines.push(
    'Next: bin/postern users create --email you@example.com --name "Your Name" --email-verified',
    '      bin/postern apps create --name "My app" --owner you@example.com --redirect-uri http://localhost:4000/callback',
    '',
  );
  process.stderr.write(`${lines.join('\n')}\n`);
}
