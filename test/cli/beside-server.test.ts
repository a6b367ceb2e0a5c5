import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Command, endAll } from '../support/postern-process.ts';
import { withPostern } from '../support/prepared-data.ts';

/* "Within a second" is bounded in test/store/external-change.test.ts, independent of the machine's load. */
after(endAll);

test('a running server obeys apps disable and apps enable', () =>
  withPostern(async (prepared, postern) => {
    const { client, settings } = prepared;
    const [tokens] = await prepared.tokens(1);
    assert.equal((await postern.userinfo(tokens!.access_token)).status, 200);
    const apps = async (subcommand: string) => {
      const { code, stderr } = await new Command(['apps', subcommand, client.clientId], settings).end();
      assert.equal(code, 0, stderr);
    };
    await apps('disable');
    await eventually(async () => (await postern.userinfo(tokens!.access_token)).status === 401);
    const refused = await postern.refresh(client, tokens!.refresh_token);
    assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_client']);
    await apps('enable');
    await eventually(async () => (await postern.userinfo(tokens!.access_token)).status === 200);
    assert.equal((await postern.refresh(client, tokens!.refresh_token)).status, 200);
  }));
