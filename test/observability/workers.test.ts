import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Postern } from '../support/command-line.ts';
import { Samples } from './samples.ts';

test('the primary process adds up what its workers counted', async () => {
  const script = join(import.meta.dirname, 'two-workers.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  const samples = new Samples(stdout);
  const route = { method: 'GET', route: '/health' };
  assert.equal(samples.value('postern_requests_total', { ...route, status: '200' }), 4);
  assert.equal(samples.value('postern_request_duration_seconds_bucket', { ...route, le: '0.0005' }), 2);
  assert.equal(samples.value('postern_request_duration_seconds_count', route), 4);
  assert.equal(samples.value('postern_grants_revoked_total', { reason: 'code_replay' }), 2);
  assert.equal(samples.value('postern_grants_live'), 7);
  assert.ok(samples.value('nodejs_eventloop_lag_p99_seconds')! >= 0);
});

test('an unusable metrics address is reported, and nothing starts', async (t) => {
  const { code, stderr } = await new Postern(t).run(['serve'], {
    env: { POSTERN_PORT: '0', POSTERN_METRICS_PORT: '1', POSTERN_METRICS_HOST: '192.0.2.1' },
  });
  assert.equal(code, 1);
  assert.equal(stderr, 'postern: 192.0.2.1 is not an address of this machine. Set POSTERN_METRICS_HOST.\n');
});

test('invalid metrics settings are reported', async (t) => {
  const { code, stderr } = await new Postern(t).run(['serve'], { env: { POSTERN_METRICS_PORT: 'yes' } });
  assert.equal(code, 1);
  assert.match(stderr, /POSTERN_METRICS_PORT must be a whole number from 0 to 65535; it is "yes"/);
});
