import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { withinASecond } from '../support/eventually.ts';
import { Command, endAll } from '../support/postern-process.ts';
import { withPostern } from '../support/prepared-data.ts';

after(endAll);

test('a running server sees apps disable and apps enable within a second', () =>
  withPostern(async (prepared, postern) => {
    const { client, settings } = prepared;
    const [tokens] = await prepared.tokens(1);
    assert.equal((await postern.userinfo(tokens!.access_token)).status, 200);
    const apps = async (subcommand: string) => {
      const { code, stderr } = await new Command(['apps', subcommand, client.clientId], settings).end();
      assert.equal(code, 0, stderr);
    };
    await apps('disable');
    await withinASecond(async () => (await postern.userinfo(tokens!.access_token)).status === 401);
    const refused = await postern.refresh(client, tokens!.refresh_token);
    assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_client']);
    await apps('enable');
    await withinASecond(async () => (await postern.userinfo(tokens!.access_token)).status === 200);
    assert.equal((await postern.refresh(client, tokens!.refresh_token)).status, 200);
  }));
