import cluster, { type Worker } from 'node:cluster';

const RESTART_MS = 1_000;

/**
 * Keeps `count` workers running, each this very command in a process of its own; they share the port.
 * One that dies is replaced. SIGTERM and SIGINT let all finish what they do; the exit code is then 0.
 */
export function superviseWorkers(count: number, drainMs: number, started: () => void): void {
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
    }, drainMs).unref();
  };

  cluster.on('listening', () => {
    if (!listening) started();
    listening = true;
  });
  cluster.on('exit', (worker: Worker, code: number, signal: string) => {
    if (stopping) return;
    // Nothing has ever worked, so nothing will: the worker has said why.
    if (!listening) return stop(1);
    process.stderr.write(
      `Worker ${worker.process.pid} ended (${signal || `exit code ${code}`}). A new one starts.\n`,
    );
    setTimeout(fork, RESTART_MS);
  });
  process.on('SIGTERM', () => stop(0));
  process.on('SIGINT', () => stop(0));
  for (let i = 0; i < count; i++) fork();
}
