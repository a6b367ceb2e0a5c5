import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, readConfig } from '../../src/config.ts';
import { exchangeForm, PASSWORD, Service, type Tokens } from '../support/service.ts';
import { attributesOf, Collector } from './collector.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

/** Runs a service that sends spans to a collector, and stops it, which sends the remaining spans. */
async function traced(
  work: (service: Service) => Promise<void>,
  settings: Record<string, string> = {},
  status = 200,
): Promise<{ collector: Collector; logged: string[] }> {
  const collector = await Collector.start(status);
  const service = await Service.start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
  try {
    await work(service);
  } finally {
    await service.stop();
    collector.stop();
  }
  return { collector, logged: service.logged };
}

test("POST /oauth/token has a span in its caller's trace, with child spans for the database", async () => {
  const { collector } = await traced(
    async (service) => {
      const client = await service.createClient();
      const issued = await service.authorize(client, await service.signedIn());
      const traceparent = `00-${TRACE}-${PARENT}-01`;
      await service.post('/oauth/token', exchangeForm(client, issued), { traceparent });
    },
    {
      POSTERN_TRUST_PROXY: 'true',
      OTEL_SERVICE_NAME: 'id',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc,x-team=a',
    },
  );
  assert.deepEqual(new Set(collector.paths), new Set(['/v1/traces']));
  assert.equal(collector.headers[0]!.authorization, 'Basic abc');
  assert.equal(collector.headers[0]!['x-team'], 'a');
  assert.match(collector.bodies[0]!, /\{"key":"service.name","value":\{"stringValue":"id"\}\}/);

  const token = collector.spans.find(({ name }) => name === 'POST /oauth/token')!;
  assert.deepEqual([token.traceId, token.parentSpanId, token.kind], [TRACE, PARENT, 2]);
  const attributes = attributesOf(token);
  assert.equal(attributes['http.route'], '/oauth/token');
  assert.equal(attributes['http.response.status_code'], '200');
  const took = BigInt(token.endTimeUnixNano) - BigInt(token.startTimeUnixNano);
  assert.ok(took > 0n && took < 10_000_000_000n);
  const steps = collector.spans.filter(({ parentSpanId }) => parentSpanId === token.spanId);
  assert.ok(
    steps.some(({ name, kind, traceId }) => name === 'database write' && kind === 3 && traceId === TRACE),
  );
});

test('spans contain no credential, password or personal data', async () => {
  const secrets: string[] = [PASSWORD];
  const { collector } = await traced(async (service) => {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const issued = await service.authorize(client, visitor, { state: 'the-state' });
    const { body } = await service.exchange(client, issued);
    const tokens = body as Tokens;
    await service.refresh(client, tokens.refresh_token);
    await service.refresh(client, tokens.refresh_token);
    await service.userinfo(tokens.access_token);
    await service.get(`/oauth/userinfo?access_token=${tokens.access_token}`);
    await service.get(`/nowhere/${tokens.access_token}`);
    await service.revoke(client, tokens.access_token);
    secrets.push(client.clientSecret, issued.code, issued.verifier, tokens.access_token);
    secrets.push(tokens.refresh_token, visitor.user.email, visitor.user.id, ...visitor.cookies.values());
    secrets.push('postern_code_', 'postern_at_', 'postern_rt_', 'postern_cs_', 'the-state', '?');
  });
  const sent = collector.bodies.join('\n');
  assert.ok(collector.spans.length > 10);
  for (const secret of secrets) assert.ok(!sent.includes(secret), secret);
  const reuse = collector.spans.find((span) => attributesOf(span)['error.type'] === 'invalid_grant');
  assert.equal(attributesOf(reuse!)['postern.reason'], 'refresh_token_reused_grant_revoked');
});

test("the sampler decides, unless a trusted proxy's trace already did", async () => {
  const ask = async (service: Service) => {
    await service.get('/health');
    await service.get('/health', { traceparent: `00-${TRACE}-${PARENT}-01` });
    await service.get('/health', { traceparent: `00-${TRACE}-${PARENT}-00` });
    await service.get('/health', { traceparent: 'nonsense' });
  };
  const count = async (sampler: string, ratio = '1', proxy = 'true') =>
    (
      await traced(ask, {
        POSTERN_TRUST_PROXY: proxy,
        OTEL_TRACES_SAMPLER: sampler,
        OTEL_TRACES_SAMPLER_ARG: ratio,
      })
    ).collector.spans.filter(({ name }) => name === 'GET /health').length;
  assert.equal(await count('always_on'), 4);
  assert.equal(await count('always_off'), 0);
  assert.equal(await count('parentbased_always_on'), 3);
  assert.equal(await count('parentbased_traceidratio', '0'), 1);
  assert.equal(await count('parentbased_traceidratio', '0', '127.0.0.0/8'), 1);
  assert.equal(
    await count('parentbased_traceidratio', '0', '10.0.0.0/8'),
    0,
    'another address is a stranger',
  );
});

test('a stranger decides neither whether a request is traced nor to which trace it belongs', async () => {
  const ask = async (service: Service) => {
    await service.get('/health', { traceparent: `00-${TRACE}-${PARENT}-01` });
    await service.get('/health', { traceparent: `00-${TRACE}-${PARENT}-00` });
  };
  const spans = async (ratio: string) =>
    (
      await traced(ask, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: ratio })
    ).collector.spans.filter(({ name }) => name === 'GET /health');
  assert.equal((await spans('0')).length, 0);
  const all = await spans('1');
  assert.equal(all.length, 2);
  assert.ok(all.every(({ traceId }) => traceId !== TRACE));
});

test('a collector that refuses spans harms nothing and is reported once', async () => {
  const { logged } = await traced(
    async (service) => {
      for (let i = 0; i < 520; i++) assert.equal((await service.get('/health')).status, 200);
    },
    {},
    503,
  );
  const complaints = logged.filter((line) => line.includes('trace collector'));
  assert.equal(complaints.length, 1);
  assert.match(complaints[0]!, /it responded with 503/);
});

test('OTEL settings: disabled without an endpoint or by a setting; faults are explained', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };
  assert.equal(readConfig({}).traces, undefined);
  assert.equal(readConfig({ ...endpoint, OTEL_SDK_DISABLED: 'true' }).traces, undefined);
  assert.equal(readConfig({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }).traces, undefined);
  assert.equal(readConfig(endpoint).traces?.url, 'http://collector:4318/v1/traces');
  const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.example/x' };
  assert.equal(readConfig({ ...endpoint, ...own }).traces?.url, 'https://c.example/x');
  const faulty = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_BSP_SCHEDULE_DELAY: 'soon',
  };
  assert.throws(
    () => readConfig(faulty),
    (error) => error instanceof ConfigError && error.faults.length === 4,
  );
});
