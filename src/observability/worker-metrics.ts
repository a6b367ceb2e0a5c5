import { AggregatorRegistry, type Registry } from 'prom-client';
import type { MetricsSource } from './metrics-listener.ts';

/** In a worker: hands its figures to the primary process whenever that asks. */
export function shareWithPrimary(registry: Registry): void {
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry();
}

/**
 * In the primary process: the figures of all its workers, added up. A scrape of one worker
 * would show a part, and each time another.
 */
export function workerMetrics(): MetricsSource {
  const registry = new AggregatorRegistry();
  return { contentType: registry.contentType, text: () => registry.clusterMetrics() };
}
