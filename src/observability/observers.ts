import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Observe } from '../store/drivers/observed-driver.ts';
import type { Metrics } from './metrics.ts';
import type { Tracer } from './tracer.ts';

/** Metrics and traces. Each is present only if the settings enable it. */
export type Observers = { readonly metrics?: Metrics; readonly tracer?: Tracer };

/** Loads their code only if it is enabled, so that it costs nothing otherwise. */
export async function loadObservers(config: Config, log: Logger): Promise<Observers> {
  return {
    ...(config.metricsPort !== undefined && { metrics: await loadMetrics() }),
    ...(config.traces && { tracer: await loadTracer(config.traces, log) }),
  };
}

async function loadMetrics(): Promise<Metrics> {
  const { Metrics } = await import('./metrics.ts');
  return new Metrics();
}

async function loadTracer(settings: NonNullable<Config['traces']>, log: Logger): Promise<Tracer> {
  const [{ Tracer }, { OtlpExporter }] = await Promise.all([
    import('./tracer.ts'),
    import('./otlp-exporter.ts'),
  ]);
  return new Tracer(new OtlpExporter(settings, log), settings.sampler);
}

/** Measures each database operation; undefined if neither metrics nor traces are enabled. */
export function observeDatabase({ metrics, tracer }: Observers): Observe | undefined {
  if (!metrics && !tracer) return undefined;
  return (operation) => {
    const startedAt = performance.now();
    const span = tracer?.beginDatabaseSpan();
    return (failed) => {
      metrics?.databaseCompleted(operation, (performance.now() - startedAt) / 1000);
      if (span) tracer?.end(span, { name: `database ${operation}`, failed, attributes: {} });
    };
  };
}
