import { percentile } from '../statistics.ts';
import { Connection } from './connection.ts';
import type { Exchange, Load, LoadResult, Requests } from './load.ts';

/** The load-generating process: performs a run for each message and sends back the result. */
process.on('message', (load: Load) => {
  new Run(load).result().then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit());
process.send!({ ready: true });

const INITIAL_CAPACITY = 1 << 17;

/** Messages of one connection: `next` returns undefined when none are left, `received` is passed each response body. */
type Source = { next(): string | undefined; received(body: string): void };

class Run {
  readonly #load: Load;
  readonly #last: Exchange[] = [];
  #latencies = new Float64Array(INITIAL_CAPACITY);
  #requests = 0;
  #completed = 0;
  #failures = 0;
  #failure: string | undefined;
  #deadline = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  async result(): Promise<LoadResult> {
    const { connections: count, ports, seconds } = this.#load;
    const sources = sourcesOf(this.#load.requests, count);
    const connections = await Promise.all(sources.map((_, i) => Connection.open(ports[i % ports.length]!)));
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    this.#deadline = startedAt + seconds * 1000;
    try {
      await Promise.all(connections.map((connection, i) => this.#drive(connection, sources[i]!, i)));
    } finally {
      for (const connection of connections) connection.close();
    }
    // The last responses arrive shortly after the deadline; they are awaited but not counted.
    const elapsed = Math.min(performance.now(), this.#deadline) - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    const latencies = this.#latencies.subarray(0, this.#requests).sort();
    return {
      requests: this.#requests,
      completed: this.#completed,
      seconds: elapsed / 1000,
      failures: this.#failures,
      failure: this.#failure,
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      maxMs: latencies.at(-1) ?? Number.NaN,
      clientCpu: (user + system) / 1000 / elapsed,
      last: this.#last.filter((exchange) => exchange !== undefined),
    };
  }

  #drive(connection: Connection, source: Source, index: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let message: string | undefined;
      let sentAt = 0;
      const sendNext = (now: number) => {
        const next = now < this.#deadline ? source.next() : undefined;
        if (next === undefined) return resolve();
        message = next;
        sentAt = now;
        connection.send(next);
      };
      connection.onBroken = (reason) => reject(new Error(reason));
      connection.onResponse = (status, body) => {
        const now = performance.now();
        if (status !== 200) {
          this.#failures++;
          this.#failure ??= `${status} ${body.slice(0, 300)}`;
          return resolve();
        }
        this.#completed++;
        if (now <= this.#deadline) this.#count(now - sentAt);
        this.#last[index] = { message: message!, body };
        source.received(body);
        sendNext(now);
      };
      sendNext(performance.now());
    });
  }

  #count(latency: number): void {
    if (this.#requests === this.#latencies.length) {
      const larger = new Float64Array(this.#latencies.length * 2);
      larger.set(this.#latencies);
      this.#latencies = larger;
    }
    this.#latencies[this.#requests++] = latency;
  }
}

function sourcesOf(requests: Requests, connections: number): Source[] {
  const indexes = Array.from({ length: connections }, (_, i) => i);
  if (requests.kind === 'rotate')
    return indexes.map((i) =>
      rotation(
        requests,
        requests.tokens.filter((_, t) => t % connections === i),
      ),
    );
  const { messages } = requests;
  let index = 0;
  const next = requests.kind === 'once' ? () => messages[index++] : () => messages[index++ % messages.length];
  return indexes.map(() => ({ next, received() {} }));
}

const REFRESH_TOKEN = '"refresh_token":"';

/** Rotates the grants of one connection in turn, each with its latest refresh token. */
function rotation({ head, form }: Requests & { kind: 'rotate' }, tokens: string[]): Source {
  let index = 0;
  return {
    next() {
      const body = form + tokens[index]!;
      return `${head}content-length: ${body.length}\r\n\r\n${body}`;
    },
    received(body) {
      const start = body.indexOf(REFRESH_TOKEN) + REFRESH_TOKEN.length;
      if (start < REFRESH_TOKEN.length)
        throw new Error(`a response without a refresh token: ${body.slice(0, 300)}`);
      tokens[index] = body.slice(start, body.indexOf('"', start));
      index = (index + 1) % tokens.length;
    },
  };
}
