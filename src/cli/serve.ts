import { existsSync, mkdirSync } from 'node:fs';
import type { Command } from 'commander';
import { destination, pino } from 'pino';
import { Passwords } from '../accounts/passwords.ts';
import type { App } from '../app.ts';
import { type Config, readConfig } from '../config.ts';
import { deriveKeys, loadSecret, secretFile } from '../keys.ts';
import { loadObservers, observeDatabase } from '../observers.ts';
import { buildServer } from '../server.ts';
import { openStore } from '../store/open.ts';
import { Sweeper } from '../sweeper.ts';
import { explainListenError } from './output.ts';
import { listenForScrapes } from './scrapes.ts';

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
  const observers = await loadObservers(config, log);
  const app: App = {
    ...observers,
    config,
    store: openStore(config.databaseUrl, { observe: observeDatabase(observers) }),
    keys: deriveKeys(loadSecret(config)),
    passwords: new Passwords(),
    now: Date.now,
    log,
  };
  await app.store.migrate();
  const server = buildServer(app);
  const scrapes = await listenForScrapes(config, app.metrics);
  await server
    .listen({ host: config.host, port: config.port })
    .catch(explainListenError(config.host, config.port, 'POSTERN_PORT'));
  const sweeper = new Sweeper(app);
  sweeper.start();
  const flushing = setInterval(() => log.flush(), 1_000).unref();
  greet(config, firstStart);

  const stop = async () => {
    // Requests under way are finished; what has not ended by then is cut off.
    setTimeout(() => process.exit(0), DRAIN_MS).unref();
    clearInterval(flushing);
    await server.close();
    scrapes?.close();
    await sweeper.stop();
    await app.store.close();
    await app.tracer?.stop();
    log.flush(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

/** For the person at the terminal; the log on standard output is for machines. */
function greet(config: Config, firstStart: boolean): void {
  const lines = [`Postern listens on ${config.baseUrl}`, `Data and key: ${config.dataDir}`];
  if (firstStart) lines.push('The key was made just now. Keep a copy: without it every token ends.');
  lines.push(
    'Next: bin/postern users create --email you@example.com --name "Your Name" --email-verified',
    '      bin/postern apps create --name "My app" --owner you@example.com --redirect-uri http://localhost:4000/callback',
    '',
  );
  process.stderr.write(`${lines.join('\n')}\n`);
}
