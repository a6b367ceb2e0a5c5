import cluster from 'node:cluster';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { destination, pino } from 'pino';
import { type App, createApp } from '../app.ts';
import { type Config, isPostgres, readConfig } from '../config.ts';
import { PosternServer } from '../http/server.ts';
import { Keyring, maxTokenTtlMs } from '../keys/keyring.ts';
import { loadSecret, secretExists } from '../keys/secret-file.ts';
import { claimDatabase } from '../keys/secret-fingerprint.ts';
import { loadObservers, observeDatabase } from '../observability/observers.ts';
import { routing } from '../routes.ts';
import { openStore, type Store, type StoreOptions } from '../store/store.ts';
import { Sweeper } from '../sweeper.ts';
import { explainDatabaseError } from './database.ts';
import { CommandFailed, explainListenError } from './output.ts';
import { serveProcessMetrics, serveWorkerMetrics } from './serve-metrics.ts';
import { superviseWorkers } from './workers.ts';

/** Requests in progress at shutdown may take this long. */
const DRAIN_TIMEOUT_MS = 10_000;
/** Additional time before workers are killed. */
const WORKER_EXIT_MS = 2_000;
const LOG_FLUSH_INTERVAL_MS = 1_000;
const LOG_BUFFER_BYTES = 12_288;
const MAX_WORKERS = 128;

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('start the service (settings: docs/settings.md)')
    .option(
      '--workers <n>',
      'number of processes that share the port, or auto; needs PostgreSQL',
      parseWorkers,
      1,
    )
    .action((options: { workers: number }) => serve(readConfig(process.env), options.workers));
}

function parseWorkers(text: string): number {
  if (text === 'auto') return availableParallelism();
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_WORKERS) return Number(text);
  throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_WORKERS}, or auto.`);
}

async function serve(config: Config, count: number): Promise<void> {
  if (count === 1 || cluster.isWorker) return serveHere(config);
  if (!isPostgres(config.databaseUrl)) {
    throw new CommandFailed(
      'Several workers need PostgreSQL: with SQLite a single process serves, and keeps its counters in memory. ' +
        'Omit --workers, or move to PostgreSQL: bin/postern transfer --help',
    );
  }
  // Reports a problem with the database or the secret once, and not from every worker.
  await openAtStart(config, {}, (store) => store.close());
  await serveWorkerMetrics(config);
  superviseWorkers(count, config.drainDelayMs + DRAIN_TIMEOUT_MS + WORKER_EXIT_MS, () =>
    greet(config, false),
  );
}

async function serveHere(config: Config): Promise<void> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const firstStart = !secretExists(config);
  const logDestination = destination({ sync: false, minLength: LOG_BUFFER_BYTES });
  const log = pino({ level: config.logLevel, base: null }, logDestination);
  const observers = await loadObservers(config, log);
  const options = { connections: config.databaseConnections, observe: observeDatabase(observers) };
  await openAtStart(config, options, async (store, secret) => {
    const keys = new Keyring(secret, maxTokenTtlMs(config));
    await keys.reload(store.signingKeys, Date.now());
    const app = createApp({ ...observers, config, store, keys, now: Date.now, log, logDestination });
    await run(app, keys);
    if (!cluster.isWorker) greet(config, firstStart);
  });
}

/** Opens the store, migrates it and checks that it belongs to the secret; then calls `next`, and closes it if that fails. */
async function openAtStart(
  config: Config,
  options: StoreOptions,
  next: (store: Store, secret: string) => Promise<void>,
): Promise<void> {
  const secret = loadSecret(config);
  const store = openStore(config.databaseUrl, options);
  try {
    await store.migrate();
    if (!(await claimDatabase(store.secretFingerprint, secret))) throw new CommandFailed(WRONG_SECRET);
    await next(store, secret);
  } catch (error) {
    await store.close();
    throw explainDatabaseError(error, config);
  }
}

const WRONG_SECRET =
  'This database belongs to another secret: with this one, all tokens in use would be refused. ' +
  'Give every node the same secret. If you changed it on purpose, run: bin/postern keys adopt-secret';

async function run(app: App, keys: Keyring): Promise<void> {
  const { config, store, log } = app;
  const server = new PosternServer(app, routing());
  const metricsListener = await serveProcessMetrics(config, app.metrics);
  await server
    .listen(config.host, config.port)
    .catch(explainListenError(config.host, config.port, 'POSTERN_PORT'));
  const sweeper = new Sweeper(app);
  sweeper.start();
  keys.watch(store.signingKeys, Date.now, (error) =>
    log.warn({ err: error }, 'the signing keys could not be read'),
  );
  const flushTimer = setInterval(() => log.flush(), LOG_FLUSH_INTERVAL_MS).unref();

  let stopping = false;
  const stop = async (drainDelayMs: number) => {
    if (stopping) return;
    stopping = true;
    app.health.draining = true;
    await server.drain(drainDelayMs);
    // Requests in progress are completed; connections that are still open after that are dropped.
    setTimeout(() => process.exit(0), DRAIN_TIMEOUT_MS).unref();
    clearInterval(flushTimer);
    await server.close();
    metricsListener?.close();
    keys.stop();
    await sweeper.stop();
    await app.mailer.stop();
    await app.store.close();
    await app.tracer?.stop();
    log.flush(() => process.exit(0));
  };
  process.once('SIGTERM', () => stop(config.drainDelayMs));
  // Ctrl+C: stop at once, somebody is waiting at the terminal.
  process.once('SIGINT', () => stop(0));
}

/** On standard error, for people; the log on standard output is for machines. */
function greet(config: Config, firstStart: boolean): void {
  const database = isPostgres(config.databaseUrl)
    ? 'Database: PostgreSQL; key: POSTERN_SECRET'
    : `Data and key: ${config.dataDir}`;
  const lines = [`Postern listens on ${config.baseUrl}`, database];
  if (firstStart) lines.push('A new key was created. Back it up: without it, all tokens become invalid.');
  if (config.smtpUrl === undefined)
    lines.push(`Mail is written to ${join(config.dataDir, 'outbox')}. To send it, set POSTERN_SMTP_URL.`);
  lines.push(
    'Next: bin/postern users create --email you@example.com --name "Your Name" --email-verified',
    '      bin/postern apps create --name "My app" --owner you@example.com --redirect-uri http://localhost:4000/callback',
    '',
  );
  process.stderr.write(`${lines.join('\n')}\n`);
}
