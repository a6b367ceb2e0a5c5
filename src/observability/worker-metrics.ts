import { AggregatorRegistry, type Registry } from 'prom-client';
import type { MetricsSource } from './metrics-listener.ts';

/** In a worker: sends its metrics to the primary process on request. */
export function shareWithPrimary(registry: Registry): void {
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry();
}

/**
 * In the primary process: the sum of all workers' metrics. A scrape of a single worker would show
 * only a part, and a different one each time.
 */
export function workerMetrics(): MetricsSource {
  const registry = new AggregatorRegistry();
  return { contentType: registry.contentType, text: () => registry.clusterMetrics() };
}
