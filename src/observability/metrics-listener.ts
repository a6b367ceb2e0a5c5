import { createServer, type Server } from 'node:http';

/** What a scrape gets. */
export type MetricsSource = { readonly contentType: string; text(): Promise<string> };

/**
 * Metrics on an address of their own, so that no mistake in a proxy's rules can show them to
 * the world: GET /metrics and nothing else.
 */
export async function serveMetrics(source: MetricsSource, host: string, port: number): Promise<Server> {
  const server = createServer(
    { requestTimeout: 10_000, headersTimeout: 10_000 },
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
  // It must not keep the process alive once everything else has ended.
  server.unref();
  return server;
}
