import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Postern } from '../support/command-line.ts';

test('resource-servers: created with a secret that is shown once, listed without it, deleted', async (t) => {
  const postern = new Postern(t);
  const none = await postern.run(['resource-servers', 'list']);
  assert.match(none.stdout, /There are no resource servers yet/);

  const created = await postern.run(['resource-servers', 'create', '--name', ' Photo API ', '--json']);
  const { id, name, secret, secret_tail } = JSON.parse(created.stdout);
  assert.match(id, /^rs_[0-9a-f]{24}$/);
  assert.match(secret, /^postern_rs_[A-Za-z0-9_-]{43}$/);
  assert.equal(secret.slice(-4), secret_tail);
  assert.equal(name, 'Photo API');

  const { stdout: table } = await postern.run(['resource-servers', 'list']);
  assert.match(table, new RegExp(`${id} +Photo API +…${secret_tail}`));
  assert.ok(!table.includes(secret));

  const deleted = await postern.run(['resource-servers', 'delete', id]);
  assert.match(deleted.stdout, /^Deleted Photo API\. It is refused from now on\.$/m);
});

test('resource-servers: errors are explained', async (t) => {
  const postern = new Postern(t);
  const unknown = await postern.run(['resource-servers', 'delete', 'rs_\u001b[31m', '--json']);
  assert.equal(unknown.code, 1);
  assert.match(JSON.parse(unknown.stderr).error, /^There is no resource server rs_\ufffd\[31m\./);
  const unnamed = await postern.run(['resource-servers', 'create', '--name', '  ']);
  assert.equal(unnamed.code, 1);
  assert.match(unnamed.stderr, /The name must have 1 to 80 characters/);
});
