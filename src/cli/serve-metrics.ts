import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { Config } from '../config.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { MetricsSource } from '../observability/metrics-listener.ts';
import { explainListenError } from './output.ts';

/** Opens the metrics listener if the settings ask for one. A worker leaves that to the primary process. */
export async function serveProcessMetrics(
  config: Config,
  metrics: Metrics | undefined,
): Promise<Server | undefined> {
  if (!metrics) return undefined;
  if (cluster.isWorker) {
    metrics.shareWithPrimary();
    return undefined;
  }
  return listen(config, metrics);
}

/** In the primary process, which serves nothing else: the metrics of all its workers. */
export async function serveWorkerMetrics(config: Config): Promise<Server | undefined> {
  if (config.metricsPort === undefined) return undefined;
  const { workerMetrics } = await import('../observability/worker-metrics.ts');
  return listen(config, workerMetrics());
}

async function listen({ metricsHost: host, metricsPort: port = 0 }: Config, source: MetricsSource) {
  const { serveMetrics } = await import('../observability/metrics-listener.ts');
  return serveMetrics(source, host, port).catch(explainListenError(host, port, 'POSTERN_METRICS_PORT'));
}
