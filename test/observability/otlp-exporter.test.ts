import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { type EndedSpan, OtlpExporter } from '../../src/observability/otlp-exporter.ts';

const SPAN: EndedSpan = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  parentSpanId: undefined,
  name: 'GET /health',
  kind: 'server',
  startNanos: '1',
  endNanos: '2',
  attributes: {},
  failed: false,
};
const BATCH_SIZE = 512;
const QUEUE_LENGTH = 2_048;
const MINUTE_MS = 60_000;

test('spans dropped because a slow collector lets the queue fill up are reported once a minute', async (t) => {
  const responsive = Promise.withResolvers<void>();
  const collector = createServer(async (request, response) => {
    await responsive.promise;
    request.resume().on('end', () => response.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  t.after(() => collector.close());
  t.mock.timers.enable({ apis: ['setInterval'] });

  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const exporter = new OtlpExporter(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: url }).traces!, log);
  for (let added = 0; added < BATCH_SIZE; added++) exporter.add(SPAN);
  await once(collector, 'request');
  for (let added = 0; added < QUEUE_LENGTH + 10; added++) exporter.add(SPAN);
  assert.deepEqual(lines, []);
  t.mock.timers.tick(MINUTE_MS);
  assert.equal(lines.length, 1);
  const { dropped, reason } = JSON.parse(lines[0]!) as { dropped: number; reason: string };
  assert.deepEqual([dropped, reason], [10, 'the queue is full']);
  t.mock.timers.tick(MINUTE_MS);
  assert.equal(lines.length, 1, 'nothing was dropped since');

  responsive.resolve();
  await exporter.stop();
  assert.equal(lines.length, 1);
});
