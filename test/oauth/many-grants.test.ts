import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorizePath, hiddenFields, newVerifier, Service } from '../support/service.ts';

test('a program that consents too often is refused with a page, and nothing is granted', async (t) => {
  const service = await Service.start();
  const client = await service.createClient();
  const visitor = await service.signedIn();
  // The store's tests show when this happens (test/store/contract/codes.ts).
  t.mock.method(service.app.store.grants, 'create', async () => 'too_many');
  const page = await visitor.get(authorizePath(client, newVerifier()));
  const reply = await visitor.post('/oauth/authorize', { ...hiddenFields(page.text), decision: 'allow' });
  assert.equal(reply.status, 429);
  assert.equal(reply.headers.get('retry-after'), '3600');
  assert.match(reply.text, /Nothing was shared/);
  await service.stop();
});
