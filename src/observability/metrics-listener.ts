import { createServer, type Server } from 'node:http';

const REQUEST_TIMEOUT_MS = 10_000;

/** Metrics in the Prometheus text format. */
export type MetricsSource = { readonly contentType: string; text(): Promise<string> };

/**
 * Serves GET /metrics on an address of its own, so that no mistake in a proxy's rules can publish
 * the metrics.
 */
export async function serveMetrics(source: MetricsSource, host: string, port: number): Promise<Server> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    async (request, response) => {
      if (request.url?.split('?', 1)[0] !== '/metrics') return response.writeHead(404).end();
      if (request.method !== 'GET') return response.writeHead(405, { allow: 'GET' }).end();
      try {
        const text = await source.text();
        response
          .writeHead(200, { 'content-type': source.contentType, 'cache-control': 'no-store' })
          .end(text);
      } catch {
        response.writeHead(500).end();
      }
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  // Must not keep the process alive when everything else has stopped.
  server.unref();
  return server;
}
