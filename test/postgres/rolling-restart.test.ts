import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { endAll, newFolder, PosternProcess, removeFolder } from '../support/postern-process.ts';
import { TestPostgres } from '../support/postgres-server.ts';

const HEALTH_INTERVAL_MS = 200;
const SECRET = 'a secret for tests that is long enough';

let server: TestPostgres;
const folder = newFolder();
before(async () => {
  server = await TestPostgres.start();
});
after(async () => {
  endAll();
  await server.stop();
  removeFolder(folder);
});

/** A load balancer as most are: keeps connections open, looks at /health now and then, and repeats no request. */
class Balancer {
  readonly nodes = new Map<PosternProcess, boolean>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server: Server = createServer((incoming, outgoing) => {
    const forwarded = request(
      { agent: this.#agent, port: this.#next().port, path: incoming.url, method: incoming.method },
      (response) => {
        outgoing.writeHead(response.statusCode!);
        response.pipe(outgoing);
      },
    );
    forwarded.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(forwarded);
  });
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#timer = setInterval(() => void this.#look(), HEALTH_INTERVAL_MS);
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #next(): PosternProcess {
    const healthy = [...this.nodes].filter(([, isHealthy]) => isHealthy).map(([node]) => node);
    this.#turn++;
    return healthy[this.#turn % healthy.length]!;
  }

  async #look(): Promise<void> {
    for (const node of this.nodes.keys()) {
      const response = await node.get('/health').catch(() => undefined);
      if (this.nodes.has(node)) this.nodes.set(node, response?.status === 200);
    }
  }
}

test('nodes are restarted one after the other behind a load balancer, and no request fails', {
  timeout: 120_000,
}, async () => {
  const settings = {
    POSTERN_DATA_DIR: folder,
    POSTERN_DATABASE_URL: await server.createDatabase(),
    POSTERN_SECRET: SECRET,
    POSTERN_TRUST_PROXY: 'true',
    POSTERN_DRAIN_DELAY: '2',
  };
  const balancer = new Balancer();
  const url = await balancer.start();
  const add = async () => balancer.nodes.set(await PosternProcess.start(settings), true);
  await add();
  await add();
  const statuses: number[] = [];
  let stopped = false;
  const clients = Array.from({ length: 8 }, async () => {
    while (!stopped) {
      const response = await fetch(`${url}/login`);
      await response.text();
      statuses.push(response.status);
    }
  });
  try {
    for (const old of [...balancer.nodes.keys()]) {
      const before = statuses.length;
      await eventually(() => statuses.length > before + 50);
      assert.equal((await old.stop()).code, 0);
      balancer.nodes.delete(old);
      await add();
    }
  } finally {
    stopped = true;
    await Promise.all(clients);
    balancer.stop();
  }
  assert.deepEqual(
    statuses.filter((status) => status !== 200),
    [],
  );
  assert.ok(statuses.length > 200, `${statuses.length} requests`);
});
