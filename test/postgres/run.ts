import { spawn } from 'node:child_process';
import { TestPostgres } from '../support/postgres-server.ts';

/**
 * Runs test files with every Service on PostgreSQL: `node test/postgres/run.ts 'test/oauth/*.test.ts' …`.
 * One server for all of them, each Service with a database of its own.
 */
const server = await TestPostgres.start();
try {
  const tests = spawn(
    process.execPath,
    ['--test', '--test-randomize', '--test-random-seed=26', '--test-concurrency=2', ...process.argv.slice(2)],
    {
      stdio: 'inherit',
      env: { ...process.env, POSTERN_TEST_DATABASE: server.url() },
    },
  );
  process.exitCode = await new Promise<number>((resolve) => {
    tests.once('exit', (code) => resolve(code ?? 1));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => tests.kill(signal));
  });
} finally {
  await server.stop();
}
process.exit();
