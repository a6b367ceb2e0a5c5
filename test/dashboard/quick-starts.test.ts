import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Developer, pathOf, textOf } from '../support/developer.ts';
import { Service, type TestClient, type Visitor } from '../support/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const CALLBACK = 'http://127.0.0.1:9/callback';
const missing = (...tools: string[]): string | false => {
  const absent = tools.filter((tool) => spawnSync(tool, ['--version']).error);
  return absent.length > 0 && `${absent.join(' and ')} not on this machine`;
};

describe('quick starts, as the application’s page shows them', () => {
  let service: Service;
  let developer: Developer;
  let client: TestClient;
  let user: Visitor;
  let folder: string;
  let page: string;

  before(async () => {
    service = await Service.startWhereItSays();
    developer = await Developer.arrive(service);
    user = await service.signedIn();
    client = await service.createClient({ ownerId: developer.visitor.user.id, redirectUris: [CALLBACK] });
    page = (await developer.get(pathOf(client))).text;
    // Beside the packages that the scripts import.
    folder = mkdtempSync(join(ROOT, 'node_modules/.quick-starts-'));
    process.env.CLIENT_SECRET = client.clientSecret;
    process.env.SESSION_SECRET = 'for this test';
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await service.stop();
  });

  function written(id: string, name: string): string {
    const path = join(folder, name);
    writeFileSync(path, textOf(page, `quick-start-${id}`));
    return path;
  }

  it('all contain the client_id, and none the secret', () => {
    const ids = [...page.matchAll(/ id="quick-start-(\w+)"/g)].map(([, id]) => id!);
    assert.deepEqual(ids, ['curl', 'node', 'express', 'python', 'go']);
    for (const id of ids) {
      const source = textOf(page, `quick-start-${id}`);
      assert.ok(source.includes(client.clientId), id);
      assert.ok(!source.includes(client.clientSecret), id);
    }
  });

  it('a single quote in the redirect URI does not end a string, and no placeholder is left', async () => {
    const quoted = await service.createClient({
      ownerId: developer.visitor.user.id,
      redirectUris: ["http://127.0.0.1:9/it's"],
    });
    const other = (await developer.get(pathOf(quoted))).text;
    const source = (id: string) => textOf(other, `quick-start-${id}`);
    for (const id of ['node', 'express']) {
      const path = join(folder, `quoted-${id}.mjs`);
      writeFileSync(path, source(id));
      execFileSync(process.execPath, ['--check', path]);
    }
    execFileSync('sh', ['-n', '-c', source('curl')]);
    for (const id of ['curl', 'node', 'express', 'python', 'go'])
      assert.doesNotMatch(source(id), /\{\{|\}\}/);
  });

  it('Node with openid-client runs', async () => {
    const { begin, finish, refresh } = await import(written('node', 'node.mjs'));
    const { url, checks } = await begin();
    const back = await user.allow(url.pathname + url.search);
    const { tokens, user: claims } = await finish(back, checks);
    assert.equal(claims.sub, user.user.id);
    assert.ok((await refresh(tokens.refresh_token)).access_token);
  });

  it('Express with Passport runs', async () => {
    const { app } = await import(written('express', 'express.mjs'));
    const server: Server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    try {
      const login = await fetch(`http://127.0.0.1:${port}/login`, { redirect: 'manual' });
      const { pathname, search } = new URL(login.headers.get('location')!);
      const back = new URL(await user.allow(pathname + search));
      const cookie = login.headers.getSetCookie()[0]!.split(';')[0]!;
      const response = await fetch(`http://127.0.0.1:${port}/callback${back.search}`, {
        headers: { cookie },
      });
      assert.equal(await response.text(), `Hello, ${user.user.id}`);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it('curl runs', { skip: missing('curl', 'openssl') }, async () => {
    const child = execFile('sh', ['-eu', written('curl', 'start.sh')]);
    let printed = '';
    child.stdout!.on('data', (text: string) => {
      printed += text;
      if (!printed.includes('code: ') || child.stdin!.writableEnded) return;
      const { pathname, search } = new URL(/http\S+/.exec(printed)![0]);
      void user.allow(pathname + search).then((back) => {
        child.stdin!.end(`${new URL(back).searchParams.get('code')}\n`);
      });
    });
    await once(child, 'close');
    assert.match(printed, /"access_token":"postern_at_/);
  });

  it('Python compiles', { skip: missing('python3') }, () => {
    execFileSync('python3', ['-m', 'py_compile', written('python', 'start.py')]);
  });

  it('Go is formatted as gofmt wants it', { skip: missing('gofmt') }, () => {
    assert.equal(execFileSync('gofmt', ['-l', written('go', 'start.go')], { encoding: 'utf8' }), '');
  });
});
