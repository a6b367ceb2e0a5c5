import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorizePath, hiddenFields, newVerifier, Service } from '../support/service.ts';

test('a program that consents without end leaves a bounded number of grants', async () => {
  const service = await Service.start();
  try {
    const client = await service.createClient();
    const visitor = await service.signedIn();
    const statuses = new Map<number, number>();
    for (let n = 0; n < 220; n++) {
      const page = await visitor.get(authorizePath(client, newVerifier()));
      const fields = { ...hiddenFields(page.text), decision: 'allow' };
      const { status } = await visitor.post('/oauth/authorize', fields);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert.deepEqual(
      [...statuses],
      [
        [303, 200],
        [429, 20],
      ],
    );
    const [row] = await service.rows('SELECT COUNT(*) AS count FROM grants WHERE revoked_at IS NULL');
    assert.equal(Number(row!.count), 100);
  } finally {
    await service.stop();
  }
});
