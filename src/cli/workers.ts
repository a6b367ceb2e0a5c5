import cluster, { type Worker } from 'node:cluster';

const RESTART_DELAY_MS = 1_000;

/**
 * Keeps `count` worker processes running, which share the port. One that dies is replaced.
 * On SIGTERM and SIGINT all workers complete their requests; the exit code is then 0.
 */
export function superviseWorkers(count: number, killAfterMs: number, onFirstListening: () => void): void {
  let listening = false;
  let stopping = false;

  const fork = () => {
    if (!stopping) cluster.fork();
  };
  const alive = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const stop = (code: number) => {
    if (stopping) return;
    stopping = true;
    process.exitCode = code;
    for (const worker of alive()) worker.process.kill('SIGTERM');
    setTimeout(() => {
      for (const worker of alive()) worker.process.kill('SIGKILL');
    }, killAfterMs).unref();
  };

  cluster.on('listening', () => {
    if (!listening) onFirstListening();
    listening = true;
  });
  cluster.on('exit', (worker: Worker, code: number, signal: string) => {
    if (stopping) return;
    // The first worker failed to start and has printed why: the others would fail as well.
    if (!listening) return stop(1);
    process.stderr.write(
      `Worker ${worker.process.pid} exited (${signal || `code ${code}`}). Starting a new one.\n`,
    );
    setTimeout(fork, RESTART_DELAY_MS);
  });
  process.on('SIGTERM', () => stop(0));
  process.on('SIGINT', () => stop(0));
  for (let i = 0; i < count; i++) fork();
}
