import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { readConfig } from '../../src/config.ts';
import { Service } from '../support/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const dockerfile = read('Dockerfile').replaceAll(/\\\n/g, ' ');
const instructions = (name: string): string[] =>
  [...dockerfile.matchAll(new RegExp(`^${name} +(.*)$`, 'gm'))].map(([, rest]) => rest!.trim());

type ComposeService = {
  build?: string;
  image: string;
  environment?: Record<string, string>;
  volumes?: string[];
  networks: string[];
  read_only?: boolean;
  depends_on?: Record<string, unknown>;
};
type Compose = {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
  networks: Record<string, unknown>;
};
const compose = parse(read('deploy/compose.yaml'), { merge: true }) as Compose;

test('the Dockerfile is valid and copies files that exist and are not ignored', () => {
  assert.deepEqual(validate(read('Dockerfile')), []);
  const allowed = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const sources = instructions('COPY')
    .filter((copy) => !copy.startsWith('--from'))
    .flatMap((copy) => copy.split(/\s+/).slice(0, -1));
  assert.deepEqual([...sources].sort(), [...allowed].sort());
  for (const source of sources) assert.ok(existsSync(join(ROOT, source)), source);
  assert.deepEqual(instructions('ENTRYPOINT'), ['["bin/postern"]']);
  assert.ok(existsSync(join(ROOT, 'bin/postern')));
});

test('the image runs without root, and the order of its stages keeps development packages out', () => {
  assert.deepEqual(instructions('USER'), ['10001:10001']);
  assert.match(instructions('RUN')[0]!, /^npm ci --omit=dev /);
  assert.equal(instructions('FROM').length, 2);
});

test("the image's health check succeeds only while Postern serves", async () => {
  const [, json] = /CMD (\[.*\])$/.exec(instructions('HEALTHCHECK')[0]!)!;
  const [command, ...args] = JSON.parse(json!) as string[];
  const check = (port: string) =>
    promisify(execFile)(command!, args, { cwd: ROOT, env: { POSTERN_PORT: port } });
  const service = await Service.start();
  await check(new URL(service.url).port);
  await service.stop();
  await assert.rejects(check(new URL(service.url).port), { code: 1 });
});

test('compose: everything it refers to exists', () => {
  for (const [name, service] of Object.entries(compose.services)) {
    if (service.build) assert.ok(existsSync(join(ROOT, 'deploy', service.build, 'Dockerfile')), name);
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('.')) assert.ok(existsSync(join(ROOT, 'deploy', source)), source);
      else assert.ok(source in compose.volumes, source);
    }
    for (const network of service.networks) assert.ok(network in compose.networks, network);
    for (const other of Object.keys(service.depends_on ?? {})) assert.ok(other in compose.services, other);
  }
});

test('compose: two nodes with read-only roots, and Caddy proxies to exactly those', () => {
  const nodes = Object.entries(compose.services).filter(([, { build }]) => build);
  assert.ok(nodes.every(([, { read_only }]) => read_only));
  const upstreams = /reverse_proxy (.*) \{/.exec(read('deploy/Caddyfile'))![1]!.split(' ');
  assert.deepEqual(
    upstreams,
    nodes.map(([name]) => `${name}:3000`),
  );
  assert.equal(nodes.length, 2);
});

test('compose: its settings are valid', () => {
  const { environment } = compose.services['postern-1']!;
  const filled = Object.entries(environment!).map(([name, text]) => [name, interpolated(text)]);
  const config = readConfig(Object.fromEntries(filled));
  assert.equal(config.databaseUrl, 'postgres://postern:abc@postgres/postern');
  assert.equal(config.baseUrl, 'https://id.example.com');
  assert.equal(config.trustProxy, 1);
});

const VALUES: Record<string, string> = {
  POSTERN_DOMAIN: 'id.example.com',
  POSTERN_SECRET: 'x'.repeat(64),
  POSTGRES_PASSWORD: 'abc',
};
const interpolated = (text: string): string =>
  text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => VALUES[name]!);

test('the systemd unit refers to files that exist', () => {
  const unit = read('deploy/postern.service');
  const paths = [...unit.matchAll(/\/opt\/postern\/([\w./-]+)/g)].map(([, path]) => path!);
  assert.ok(paths.includes('bin/postern'));
  for (const path of paths) assert.ok(existsSync(join(ROOT, path)), path);
  for (const line of unit.split('\n'))
    assert.match(line, /^(#.*|\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=.*|)$/);
});

test('every setting named in a deployment file is a documented one', () => {
  const documented = read('docs/settings.md');
  for (const file of ['Dockerfile', 'deploy/compose.yaml', 'deploy/postern.service']) {
    for (const [name] of read(file).matchAll(/\bPOSTERN_(?!DOMAIN)[A-Z_]+/g))
      assert.ok(documented.includes(`\`${name}\``), `${name} in ${file}`);
  }
});
