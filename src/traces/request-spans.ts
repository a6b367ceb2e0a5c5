import type { FastifyInstance } from 'fastify';
import { labelsOf } from '../metrics/request-metrics.ts';
import type { Span, Tracer } from './tracer.ts';

declare module 'fastify' {
  interface FastifyRequest {
    span?: Span;
  }
}

/**
 * A span a request, named after OpenTelemetry's conventions for HTTP servers. Of the address
 * it holds the route alone: a query can carry a code.
 */
export function traceRequests(server: FastifyInstance, tracer: Tracer): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers;
    const span = tracer.beginRequest(typeof traceparent === 'string' ? traceparent : undefined);
    if (span) request.span = span;
    done();
  });
  // Reading the body has left the context of the request behind, so it is entered after that.
  server.addHook('preHandler', (request, _reply, done) => {
    if (request.span) tracer.within(request.span, done);
    else done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    if (request.span) {
      const { method, route } = labelsOf(request);
      const { errorCode, note } = request;
      tracer.end(request.span, {
        name: `${method} ${route}`,
        failed: reply.statusCode >= 500,
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': reply.statusCode,
          'postern.request': request.id,
          ...(errorCode && { 'error.type': errorCode }),
          ...(note?.client && { 'postern.client': note.client }),
          ...(note?.reason && { 'postern.reason': note.reason }),
        },
      });
    }
    done();
  });
}
