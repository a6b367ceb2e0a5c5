import cluster from 'node:cluster';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { destination, pino } from 'pino';
import type { App } from '../app.ts';
import { type Config, isPostgres, readConfig } from '../config.ts';
import { PosternServer } from '../http/server.ts';
import { Keyring, maxTokenTtlMs } from '../keys/keyring.ts';
import { loadSecret, secretExists } from '../keys/secret-file.ts';
import { claimDatabase } from '../keys/secret-fingerprint.ts';
import { Mailer } from '../mail/mailer.ts';
import { loadObservers, observeDatabase } from '../observability/observers.ts';
import { PasswordHasher } from '../passwords/password-hasher.ts';
import { openStore, type Store, type StoreOptions } from '../store/store.ts';
import { Sweeper } from '../sweeper.ts';
import { inWords } from './database.ts';
import { listenForScrapes, listenForWorkersScrapes } from './metrics-listener.ts';
import { CommandFailed, explainListenError } from './output.ts';
import { superviseWorkers } from './workers.ts';

const DRAIN_MS = 10_000;
const MAX_WORKERS = 128;

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('start the service (settings: docs/settings.md)')
    .option('--workers <n>', 'processes that share the port, with PostgreSQL: a number, or auto', workers, 1)
    .action((options: { workers: number }) => serve(readConfig(process.env), options.workers));
}

function workers(text: string): number {
  if (text === 'auto') return availableParallelism();
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_WORKERS) return Number(text);
  throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_WORKERS}, or auto.`);
}

async function serve(config: Config, count: number): Promise<void> {
  if (count === 1 || cluster.isWorker) return serveHere(config);
  if (!isPostgres(config.databaseUrl)) {
    throw new CommandFailed(
      'Several workers need PostgreSQL: with SQLite one process serves, and counts in its memory. ' +
        'Leave --workers out, or move with: bin/postern transfer --help',
    );
  }
  // What is wrong with the database or the secret is said once, and not by every worker.
  await openAtStart(config, {}, (store) => store.close());
  await listenForWorkersScrapes(config);
  superviseWorkers(count, DRAIN_MS + 2_000, () => greet(config, false));
}

async function serveHere(config: Config): Promise<void> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const firstStart = !secretExists(config);
  const logDestination = destination({ sync: false, minLength: 12_288 });
  const log = pino({ level: config.logLevel, base: null }, logDestination);
  const observers = await loadObservers(config, log);
  const options = { connections: config.databaseConnections, observe: observeDatabase(observers) };
  await openAtStart(config, options, async (store, secret) => {
    const keys = new Keyring(secret, maxTokenTtlMs(config));
    await keys.reload(store.signingKeys, Date.now());
    const [passwords, mailer] = [new PasswordHasher(), new Mailer(config, log)];
    const services = { store, keys, passwords, mailer };
    await run({ ...observers, ...services, config, now: Date.now, log, logDestination }, keys);
    if (!cluster.isWorker) greet(config, firstStart);
  });
}

/** The store, its schema current and its secret the right one. */
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
    throw inWords(error, config);
  }
}

const WRONG_SECRET =
  'This database belongs to another POSTERN_SECRET: with this one, every token in use would be refused. ' +
  'Give every node the same secret. If you changed it on purpose, run: bin/postern keys adopt-secret';

async function run(app: App, keys: Keyring): Promise<void> {
  const { config, store, log } = app;
  const server = new PosternServer(app);
  const scrapes = await listenForScrapes(config, app.metrics);
  await server
    .listen(config.host, config.port)
    .catch(explainListenError(config.host, config.port, 'POSTERN_PORT'));
  const sweeper = new Sweeper(app);
  sweeper.start();
  keys.watch(store.signingKeys, Date.now, (error) =>
    log.warn({ err: error }, 'the sealing keys could not be read'),
  );
  const flushing = setInterval(() => log.flush(), 1_000).unref();

  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    // Requests under way are finished; what has not ended by then is cut off.
    setTimeout(() => process.exit(0), DRAIN_MS).unref();
    clearInterval(flushing);
    await server.close();
    scrapes?.close();
    keys.stop();
    await sweeper.stop();
    await app.mailer.stop();
    await app.store.close();
    await app.tracer?.stop();
    log.flush(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

/** For the person at the terminal; the log on standard output is for machines. */
function greet(config: Config, firstStart: boolean): void {
  const database = isPostgres(config.databaseUrl)
    ? 'Database: PostgreSQL, with the key of POSTERN_SECRET'
    : `Data and key: ${config.dataDir}`;
  const lines = [`Postern listens on ${config.baseUrl}`, database];
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
