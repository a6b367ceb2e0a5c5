import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { Config } from '../config.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Scraped } from '../observability/metrics-listener.ts';
import { explainListenError } from './output.ts';

/** Opens the listener for metrics where the settings ask for one. A worker leaves it to the primary process. */
export async function listenForScrapes(
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

/** In the primary process, which serves nothing else: the figures of all its workers. */
export async function listenForWorkersScrapes(config: Config): Promise<Server | undefined> {
  if (config.metricsPort === undefined) return undefined;
  const { ofAllWorkers } = await import('../observability/worker-metrics.ts');
  return listen(config, ofAllWorkers());
}

async function listen({ metricsHost: host, metricsPort: port = 0 }: Config, scraped: Scraped) {
  const { serveMetrics } = await import('../observability/metrics-listener.ts');
  return serveMetrics(scraped, host, port).catch(explainListenError(host, port, 'POSTERN_METRICS_PORT'));
}
