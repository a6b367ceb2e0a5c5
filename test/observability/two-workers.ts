/** Run by workers.test.ts: two workers with some metrics each, and the primary process, which prints the sum. */
import cluster from 'node:cluster';
import { Metrics } from '../../src/observability/metrics.ts';
import { workerMetrics } from '../../src/observability/worker-metrics.ts';

if (cluster.isPrimary) {
  const all = workerMetrics();
  let ready = 0;
  cluster.on('message', async (_worker, message) => {
    if (message !== 'ready' || ++ready < 2) return;
    process.stdout.write(await all.text(), () => process.exit());
  });
  cluster.fork();
  cluster.fork();
} else {
  const metrics = new Metrics();
  metrics.shareWithPrimary();
  for (const seconds of [0.0001, 0.2])
    metrics.requestCompleted({ method: 'GET', route: '/health', status: 200, error: undefined, seconds });
  metrics.grantRevoked('code_replay');
  if (cluster.worker!.id === 1) metrics.grantsCounted(7);
  process.send!('ready');
}
