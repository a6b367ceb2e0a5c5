import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Metrics } from './metrics.ts';

/** Counts and times every answer. Installed only when there are metrics, so that it costs nothing otherwise. */
export function measureRequests(server: FastifyInstance, metrics: Metrics): void {
  server.addHook('onResponse', (request, reply, done) => {
    metrics.requestAnswered({
      ...labelsOf(request),
      status: reply.statusCode,
      error: request.errorCode,
      seconds: reply.elapsedTime / 1000,
    });
    done();
  });
}

/** The address as registered; whatever is not registered is one series, however many are tried. */
export function labelsOf(request: FastifyRequest): { method: string; route: string } {
  const route = request.routeOptions.url;
  if (route === undefined) return { method: 'other', route: 'none' };
  return { method: request.method, route: route.startsWith('/assets/') ? '/assets' : route };
}
