import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Config, readConfig } from '../../src/config.ts';
import { loadSecret, secretExists, secretPath } from '../../src/keys/secret-file.ts';

function newConfig(t: TestContext, settings: Record<string, string> = {}): Config {
  const folder = mkdtempSync(join(tmpdir(), 'postern-keys-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return readConfig({ POSTERN_DATA_DIR: join(folder, 'data'), ...settings });
}

test('the first use creates a random secret that only its own account can read, and later uses read it', (t) => {
  const config = newConfig(t);
  assert.ok(!secretExists(config));
  const secret = loadSecret(config);
  assert.ok(secretExists(config));
  assert.equal(Buffer.from(secret, 'base64url').length, 48);
  assert.equal(statSync(secretPath(config)).mode & 0o777, 0o600);
  assert.equal(statSync(config.dataDir).mode & 0o777, 0o700);
  assert.equal(loadSecret(config), secret);
  assert.notEqual(loadSecret(newConfig(t)), secret);
  assert.deepEqual(readdirSync(config.dataDir), ['secret']);
});

test('POSTERN_SECRET takes precedence, and creates no file', (t) => {
  const config = newConfig(t, { POSTERN_SECRET: 'a secret of at least thirty-two bytes' });
  assert.ok(secretExists(config));
  assert.equal(loadSecret(config), 'a secret of at least thirty-two bytes');
  assert.throws(() => statSync(config.dataDir), { code: 'ENOENT' });
});

test('a file with a short secret is an error, and stays as it is', (t) => {
  const config = newConfig(t);
  loadSecret(config);
  writeFileSync(secretPath(config), 'short\n');
  assert.throws(() => loadSecret(config), /does not contain a secret of at least 32 bytes/);
  assert.equal(readFileSync(secretPath(config), 'utf8'), 'short\n');
});
