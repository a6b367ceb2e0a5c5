import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { newResourceServerSecret } from '../../src/protocol/client-secret.ts';
import { Service, type TestClient, type Tokens, type Visitor } from '../support/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const documentAt = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, code]) => code!);

let service: Service;
let client: TestClient;
let visitor: Visitor;
let folder: string;
before(async () => {
  service = await Service.startWhereItSays();
  client = await service.createClient({ redirectUris: ['http://localhost:4000/callback'] });
  visitor = await service.signedIn();
  folder = mkdtempSync(join(tmpdir(), 'postern-docs-'));
  const curl = join(folder, 'curl');
  writeFileSync(curl, `#!/bin/sh\nexec node ${join(import.meta.dirname, 'curl.mjs')} "$@"\n`);
  chmodSync(curl, 0o755);
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

/** Runs shell commands of a document, with the test's curl and Node first in PATH. */
async function shell(script: string, env: Record<string, string>): Promise<string[]> {
  const PATH = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
  const { stdout } = await run('sh', ['-eu', '-c', script], { env: { PATH, ...env } });
  return stdout.trim().split('\n');
}

test('docs/integrating.md: its shell commands run from top to bottom', async () => {
  const all = blocks(documentAt('docs/integrating.md'), 'sh');
  const until = all.findIndex((block) => block.includes('/oauth/authorize'));
  const env = {
    BASE: service.url,
    CLIENT_ID: client.clientId,
    CLIENT_SECRET: client.clientSecret,
    REDIRECT_URI: client.redirectUri,
  };
  const first = [...all.slice(0, until + 1), 'echo "$CODE_VERIFIER"'].join('\n');
  const [address, verifier] = await shell(first, env);
  const back = new URL(await visitor.allow(address!.slice(service.url.length)));

  const rest = all.slice(until + 1).join('\necho\n');
  const CODE = back.searchParams.get('code')!;
  const printed = await shell(rest, { ...env, CODE, CODE_VERIFIER: verifier! });
  const [issued, profile, renewed, revoked] = printed.filter(Boolean).map((line) => JSON.parse(line));
  assert.equal(issued.scope, 'profile email');
  assert.equal(profile.sub, visitor.user.id);
  assert.notEqual(renewed.refresh_token, issued.refresh_token);
  assert.deepEqual(revoked, { revoked: true });
  assert.equal((await service.userinfo(renewed.access_token)).status, 401);
});

test('docs/introspection.md: its check works as written', async () => {
  const check = blocks(documentAt('docs/introspection.md'), 'sh').find((block) => block.includes('curl'))!;
  const secret = newResourceServerSecret();
  await service.app.store.resourceServers.create({ id: 'rs_docs', name: 'x', secret, now: 0 });
  const { access_token } = await service.tokens(client, visitor);
  const script = check.replace('http://localhost:3000', service.url);
  const env = { ID: 'rs_docs', SECRET: secret, ACCESS_TOKEN: access_token };
  const [response] = await shell(script, env);
  const shown = blocks(documentAt('docs/introspection.md'), 'json')[0]!;
  assert.deepEqual(Object.keys(JSON.parse(response!)), Object.keys(JSON.parse(shown)));
});

/** The example in a file, as a developer would paste it, type-checked. */
async function example() {
  const [code] = blocks(documentAt('docs/integrating.md'), 'ts');
  const path = join(folder, 'session.ts');
  writeFileSync(path, code!);
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'esnext', '--module', 'nodenext'];
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, ...types, path]);
  return import(path);
}

test('docs/integrating.md: a hundred requests at once refresh once, and a revoked grant asks for authorization', async () => {
  const { UserTokens, AuthorizationRequired } = await example();
  const { clientId, clientSecret } = client;
  const issued: Tokens = await service.tokens(client, visitor);
  let kept = { accessToken: issued.access_token, refreshToken: issued.refresh_token, expiresAt: 0 };
  let saves = 0;
  const userTokens = new UserTokens(
    { base: service.url, clientId, clientSecret },
    async () => kept,
    async (tokens: typeof kept) => {
      saves++;
      kept = tokens;
    },
  );
  const all = await Promise.all(Array.from({ length: 100 }, () => userTokens.accessToken()));
  assert.equal(saves, 1);
  assert.deepEqual(new Set(all), new Set([kept.accessToken]));
  assert.notEqual(kept.accessToken, issued.access_token);
  assert.equal((await service.userinfo(kept.accessToken)).status, 200);
  assert.equal(await userTokens.accessToken(), kept.accessToken);

  await service.revoke(client, kept.refreshToken);
  kept = { ...kept, expiresAt: 0 };
  await assert.rejects(userTokens.accessToken(), AuthorizationRequired);
});

test('docs/integrating.md: every error of the OpenAPI document has a row', async () => {
  const text = documentAt('docs/integrating.md');
  const paths = (await service.get('/openapi.json')).body.paths as object;
  const codes = new Set(
    [...JSON.stringify(paths).matchAll(/"error":"(\w+)"|[?&]error=(\w+)/g)].map(([, a, b]) => a ?? b),
  );
  assert.ok(codes.size >= 10);
  for (const code of codes) assert.match(text, new RegExp(`^\\| [–\\d]+ \\| \`${code}\``, 'm'));
});
